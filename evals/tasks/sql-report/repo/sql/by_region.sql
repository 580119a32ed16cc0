-- What each region ordered and paid in the month :month, as 2024-03.
SELECT
    c.region,
    COUNT(DISTINCT o.id) AS orders,
    COALESCE(SUM(l.pieces * l.cents), 0) AS ordered,
    COALESCE(SUM(p.cents), 0) AS paid
FROM customers AS c
JOIN orders AS o ON o.customer_id = c.id
LEFT JOIN order_lines AS l ON l.order_id = o.id
LEFT JOIN payments AS p ON p.order_id = o.id
WHERE substr(o.day, 1, 7) = :month
    AND NOT o.cancelled
GROUP BY c.region
ORDER BY c.region;
