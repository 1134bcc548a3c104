-- The query of plans/join.json: DAIS 2016, the triple hash join.
select ol_o_id, ol_w_id, ol_d_id, sum(ol_amount) as revenue, o_entry_d
from order_line, orders, new_order, customer
where o_entry_d > timestamp '2013-07-01 00:00:00'
  and c_id = o_c_id and c_w_id = o_w_id and c_d_id = o_d_id
  and no_w_id = o_w_id and no_d_id = o_d_id and no_o_id = o_id
  and ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
  and c_state like 'A%'
group by ol_o_id, ol_w_id, ol_d_id, o_entry_d
having sum(ol_amount) > 80000.00
order by revenue desc, o_entry_d
