-- How many pieces of each cheese were ordered in the month :month.
SELECT l.cheese, SUM(l.pieces) AS pieces
FROM order_lines AS l
JOIN orders AS o ON o.id = l.order_id
WHERE substr(o.day, 1, 7) = :month
    AND NOT o.cancelled
GROUP BY l.cheese
ORDER BY pieces DESC, l.cheese;
