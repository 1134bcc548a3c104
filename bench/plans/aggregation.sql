-- The query of plans/aggregation.json: DAIS 2016, the aggregation.
select ol_number, sum(ol_quantity) as sum_qty, sum(ol_amount) as sum_amount,
       sum(ol_quantity) / count(*) as avg_qty,
       sum(ol_amount) / count(*) as avg_amount, count(*) as count_order
from order_line
where ol_delivery_d > timestamp '2013-07-01 00:00:00'
group by ol_number
order by sum(ol_quantity) desc
