/** What a crossing costs, in cents. */
export function price(tariff, persons, withVehicle) {
  return tariff.person * persons + (withVehicle ? tariff.vehicle : 0);
}

export function formatPrice(cents) {
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, "0")}`;
}
