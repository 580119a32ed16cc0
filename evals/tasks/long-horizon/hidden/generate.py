"""Writes the drivers of the task: python3 generate.py FOLDER. Always the same text.

DRIVERS is also what the checker holds the report against."""

import os
import sys

# Name, saturation, limiting function, its wrong limit, where the saturation is told (kind and text).
# "{v}" is the saturation, "{x}" the same in hexadecimal.
DRIVERS = [
    ("anemometer", 3107, "cap_raw", "4095", "note", "Wind tunnel, 2016: from 31 m/s on the counter stood at {v} and did not move any more."),
    ("barometer", 2954, "clip_counts", "0xFFF", "doc", "Beyond {v} this converter has no codes left to give."),
    ("bubbler", 7261, "bounded", "8191", "const", "LAST_CODE = 0x{x}  # the chip can put nothing higher on the wire"),
    ("ceilometer", 5518, "hold_in_range", "10_000", "dict", '"end_of_scale": {v},  # a cloud at the lens, it cannot be nearer'),
    ("chlorimeter", 1873, "trim_reading", "2047", "note", "Dipped into bleach it shows {v}. That is the end, more bleach makes no difference."),
    ("densitometer", 6402, "fence", "65535", "doc", "The electronics peg at {v} counts."),
    ("dosimeter", 9046, "keep_plausible", "9999", "const", "PLATEAU = 9000 + 46  # where the tube goes blind"),
    ("evaporimeter", 1296, "limited", "1 << 11", "note", "A full pan gives {v}, and what rains into a full pan runs over."),
    ("extensometer", 4733, "saturate", "5000", "doc", "Fully pulled out, against its stop, the wire drum reads {v}."),
    ("flowmeter", 8359, "cut_off", "0x3FFF", "dict", '"pulses_no_pump_can_exceed": {v},'),
    ("fluorimeter", 3685, "ceiling_of", "4096", "note", "The photo diode is fully lit at {v}; we shone a torch into it to make sure."),
    ("gravimeter", 5027, "within_travel", "5999", "const", "SPRING_BLOCKED_AT = {v}"),
    ("hygrometer", 2218, "squeeze", "4095", "doc", "Under water (it happens) the polymer yields {v}, the largest reading there is."),
    ("inclinometer", 6891, "stop_at_end", "7199", "dict", '"lying_on_its_side": 0x{x},  # further it cannot fall'),
    ("lysimeter", 4170, "rein_in", "0xFFFF", "note", "The load cell rests on the floor at {v}. Heavier soil looks the same."),
    ("magnetometer", 7742, "crop", "8192", "doc", "The core is magnetised through and through when {v} is shown."),
    ("nephelometer", 1529, "tame", "1 << 12", "const", "MILK = {v}  # whiter than milk does not get"),
    ("odometer", 9613, "roll_guard", "99_999", "note", "The drums jam at {v}: somebody glued them so that they would not begin at zero again."),
    ("pluviometer", 2846, "cap_tips", "3600", "doc", "The bucket cannot tip more often than {v} times in an hour."),
    ("pyranometer", 3394, "shade", "0x1000", "dict", '"overload": {v},  # the amplifier is at its rail'),
    ("refractometer", 5863, "narrow", "6143", "note", "Pure syrup is {v}. The shadow has left the window then, and the number stays."),
    ("seismometer", 8077, "arrest", "16383", "const", "MASS_TOUCHES_FRAME = {v}"),
    ("tensiometer", 1651, "bound_suction", "2000", "doc", "At {v} the water column breaks, and no drier soil can be told from it."),
    ("turbidimeter", 6235, "contain", "9_999", "dict", '"opaque": {v},  # nothing gets through any more'),
]

# Numbers of the same size that are something else.
OTHER = [
    "The station calls somebody out of bed at {n}.",
    "An ordinary day in June is around {n}.",
    "The type before this one ended at {n}; none of them is in the field any more.",
    "Instruments with a number below {n} have the old plug.",
    "The leaflet of the maker suggests {n} for the first alarm.",
    "Calibrated in the workshop at {n}, in the middle of the range.",
    "Page {n} of the operating log has the story of the broken cable.",
    "In the winter of 2012 the mean was {n}.",
]

# What stands above functions.
REMARKS = [
    "As in form {n} of the office.",
    "Checked against logger {n}; no more than one count between them.",
    "The figures come from letter {n}.",
    "Order {n}: the largest batch so far.",
    "Cabinet {n}, upper shelf, has the drawings.",
]

WORDS = "drift offset slope level batch window trend phase lamp cable heater valve cycle probe range shift quiet storm".split()
VERBS = "adjust blend weigh classify describe fold group mark rate scale sort spread".split()
STATES = "idle steady rising falling noisy stuck frozen warming cooling unknown".split()


class Numbers:
    """The same pseudorandom numbers with every version of Python."""

    def __init__(self, seed):
        self.state = seed * 2654435761 % 4294967296

    def below(self, limit):
        self.state = (self.state * 1664525 + 1013904223) % 4294967296
        return (self.state >> 8) * limit >> 24

    def pick(self, items):
        return items[self.below(len(items))]


def filler(rnd, name):
    """The lines of one function that has nothing to do with the limit."""
    kind = rnd.below(6)
    a, b, c = (rnd.below(6000) + 900 for _ in range(3))
    if kind == 0:
        return [
            f"# {rnd.pick(REMARKS).format(n=c)}",
            f"def {name}(value):",
            f'    """Straight line through the workshop points {a} and {a + b}."""',
            f"    low, high = {a}, {a + b}",
            "    if value <= low:",
            "        return 0.0",
            "    part = (value - low) / (high - low)",
            f"    return part * {c}.0",
        ]
    if kind == 1:
        lines = [f"def {name}(value):", '    """Class of a value, as it stands in the yearbook."""']
        bound = 0
        for state in STATES[: 3 + rnd.below(5)]:
            bound += 400 + rnd.below(900)
            lines += [f"    if value < {bound}:", f'        return "{state}"']
        return lines + ['    return "beyond"']
    if kind == 2:
        lines = [f"def {name}(readings):", '    """Weighted mean of the latest readings."""', "    weights = ("]
        lines += [f"        {1 + rnd.below(9)}.{rnd.below(10)}," for _ in range(4 + rnd.below(4))]
        return lines + [
            "    )",
            "    pairs = list(zip(readings, weights))",
            "    total = sum(weight for _, weight in pairs)",
            "    return sum(value * weight for value, weight in pairs) / total if total else 0.0",
        ]
    if kind == 3:
        lines = [f"def {name}(code):", '    """Text for a status code of the controller."""', "    texts = {"]
        code = 0
        for _ in range(4 + rnd.below(5)):
            code += 300 + rnd.below(700)
            lines.append(f'        {code}: "{rnd.pick(WORDS)} {rnd.pick(STATES)}",')
        return lines + ["    }", f'    return texts.get(code, "status %d" % code)']
    if kind == 4:
        return [
            f"def {name}(readings):",
            f'    """Number of jumps of more than {a} from one reading to the next."""',
            "    jumps = 0",
            "    for before, after in zip(readings, readings[1:]):",
            f"        if abs(after - before) > {a}:",
            "            jumps += 1",
            "    return jumps",
        ]
    return [
        f"# {rnd.pick(REMARKS).format(n=a)}",
        f"def {name}(minutes):",
        f'    """Whether the {rnd.pick(WORDS)} is looked after in this minute of the day."""',
        f"    start, length = {a % 1440}, {b % 200}",
        "    since = minutes - start",
        f"    return 0 <= since < length or minutes % {c % 300 + 60} == 0",
    ]


def passage(kind, text, other, rnd):
    """The lines of the middle of a module, where the saturation is told among other things."""
    if kind == "note":
        return ["# " + other[0], "# " + text, "# " + other[1]]
    if kind == "doc":
        return ["def describe_sensor():", f'    """{other[0]}', "", f"    {text}", f"    {other[1]}", '    """', f'    return "type {rnd.below(90) + 10}"']
    if kind == "const":
        return [f"# {other[0]}", f"WORKSHOP_POINT = {rnd.below(900) + 100}", text, f"# {other[1]}"]
    return ["# " + other[0], "POINTS = {", f'    "ice_water": {rnd.below(300) + 20},', f'    "room": {rnd.below(300) + 400},', f"    {text}", "}", "# " + other[1]]


def limiter(name, limit, form):
    """The lines of the limiting function with its wrong limit."""
    head = [f"def {name}(raw):", '    """Limits a raw count to what the sensor can deliver."""']
    if form == 0:
        return head + ["    if raw < 0:", "        return 0", f"    if raw > {limit}:", f"        return {limit}", "    return raw"]
    if form == 1:
        return head + [f"    return max(0, min(raw, {limit}))"]
    if form == 2:
        return head + [f"    top = {limit}", "    if raw >= top:", "        return top", "    return raw if raw > 0 else 0"]
    return head + [f"    return sorted((0, raw, {limit}))[1]"]


def module(index):
    name, saturation, function, limit, kind, text = DRIVERS[index]
    rnd = Numbers(index + 1)
    others = [OTHER[(index + i) % len(OTHER)].format(n=1000 + rnd.below(8000)) for i in range(4)]
    text = text.format(v=saturation, x=f"{saturation:X}")
    lines = [f'"""Driver of the {name}.', "", "Raw counts come from the logger, everything else is made of them here.", '"""', "", "import math", ""]
    lines += [f"CHANNEL = {index + 3}", f"PERIOD_S = {rnd.pick([10, 20, 30, 60])}", "", f"# {others[2]}", ""]
    told_at, limited_at = 330 + rnd.below(240), 640 + rnd.below(140)
    used = set()
    while len(lines) < 890:
        if told_at is not None and len(lines) > told_at:
            lines += ["", *passage(kind, text, others, rnd), ""]
            told_at = None
        elif limited_at is not None and len(lines) > limited_at:
            lines += ["", *limiter(function, limit, index % 4), ""]
            limited_at = None
        else:
            title = f"{rnd.pick(VERBS)}_{rnd.pick(WORDS)}"
            while title in used:
                title += "_" + rnd.pick(WORDS)
            used.add(title)
            lines += ["", *filler(rnd, title), ""]
    lines += ["", "def rms(readings):", '    """Root of the mean square; 0 for no readings."""', "    if not readings:", "        return 0.0"]
    lines += ["    return math.sqrt(sum(value * value for value in readings) / len(readings))", "", f"# {others[3]}"]
    return "\n".join(lines) + "\n"


def main(folder):
    os.makedirs(folder, exist_ok=True)
    for index, driver in enumerate(DRIVERS):
        with open(os.path.join(folder, driver[0] + ".py"), "w", encoding="utf-8") as file:
            file.write(module(index))
    with open(os.path.join(folder, "registry.py"), "w", encoding="utf-8") as file:
        file.write('"""The function of each driver that limits its raw counts."""\n\nLIMITING = {\n')
        file.writelines(f'    "{driver[0]}": "{driver[2]}",\n' for driver in DRIVERS)
        file.write("}\n")


if __name__ == "__main__":
    main(sys.argv[1])
