INSERT INTO customers VALUES
    (1, 'Deli Aumann', 'north'),
    (2, 'Market hall', 'south'),
    (3, 'Inn at the ferry', 'south'),
    (4, 'School kitchen', 'east');

INSERT INTO orders VALUES
    (10, 1, '2024-03-04', 0),
    (11, 2, '2024-03-05', 0),
    (12, 3, '2024-03-18', 0),
    (13, 2, '2024-03-20', 1),
    (14, 4, '2024-02-27', 0),
    (15, 3, '2024-03-29', 0);

INSERT INTO order_lines VALUES
    (10, 'mountain', 16, 3100),
    (10, 'smoked', 4, 3100),
    (11, 'mountain', 4, 3100),
    (12, 'blue', 6, 1850),
    (13, 'blue', 2, 1850),
    (14, 'curd', 30, 240),
    (15, 'goat', 5, 1400);

INSERT INTO payments VALUES
    (10, '2024-03-11', 30000),
    (10, '2024-04-11', 32000),
    (11, '2024-03-05', 12400),
    (12, '2024-03-25', 11100),
    (14, '2024-03-02', 7200);
