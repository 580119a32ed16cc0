/** Whether a number is in a list as on paper: "3, 8, 10-12". */
export function onList(list, number) {
  return list.split(',').some((part) => {
    const range = /^\s*(\d+)\s*-\s*(\d+)\s*$/.exec(part);
    if (range) return number >= Number(range[1]) && number <= Number(range[2]);
    return part.includes(number);
  });
}
