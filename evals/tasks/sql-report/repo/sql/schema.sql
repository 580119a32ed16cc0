CREATE TABLE customers (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    region TEXT NOT NULL
);

CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers (id),
    day TEXT NOT NULL, -- as 2024-03-31
    cancelled INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE order_lines (
    order_id INTEGER NOT NULL REFERENCES orders (id),
    cheese TEXT NOT NULL,
    pieces INTEGER NOT NULL,
    cents INTEGER NOT NULL -- for one piece
);

CREATE TABLE payments (
    order_id INTEGER NOT NULL REFERENCES orders (id),
    day TEXT NOT NULL,
    cents INTEGER NOT NULL
);
