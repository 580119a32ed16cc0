"""A minus behind the amount counts, whatever the amount; all other forms are read as before."""
import sys

sys.path.insert(0, sys.argv[1])
from statements import AmountError, read_amount, read_booking

for cents in (1, 99, 100, 320, 1860, 98765, 120450, 186040, 999999, 123456789):
    thousands = f"{cents // 100:,}".replace(",", ".")
    for euros in {str(cents // 100), thousands}:
        text = f"{euros},{cents % 100:02d}"
        for form, want in (
            (text, cents), (text + " EUR", cents), ("-" + text, -cents), (f"({text})", -cents), (text + "-", -cents),
            (f" {text}- ", -cents), (f"-{text} EUR", -cents),
        ):
            got = read_amount(form)
            if got != want:
                sys.exit(f"{form!r} is read as {got} instead of {want}")
if read_booking("02.01.;7,00-;tip - paid").cents != -700 or read_booking("02.01.;7,00;tip-").cents != 700:
    sys.exit("a booking is read wrongly")
for bad in ("", "-", "3", "3.20"):
    try:
        read_amount(bad)
    except AmountError:
        continue
    sys.exit(f"{bad!r} is taken for an amount")
print("ok")
