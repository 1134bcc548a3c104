-- The 16 columns of TPC-H's lineitem, with values from hashes of the row's
-- number: the same rows wherever DuckDB's version is the same. A row takes some
-- 170 bytes as Arrow. :rows is replaced by their number.
create table lineitem as
select
    (i // 4) * 8 + i % 4 + 1 as l_orderkey,
    (hash(i, 1) % 200000 + 1)::bigint as l_partkey,
    (hash(i, 2) % 10000 + 1)::bigint as l_suppkey,
    i % 4 + 1 as l_linenumber,
    (hash(i, 3) % 50 + 1)::decimal(15, 2) as l_quantity,
    ((hash(i, 4) % 10404950 + 90100)::decimal(17, 0) / 100)::decimal(15, 2)
        as l_extendedprice,
    ((hash(i, 5) % 11)::decimal(15, 0) / 100)::decimal(15, 2) as l_discount,
    ((hash(i, 6) % 9)::decimal(15, 0) / 100)::decimal(15, 2) as l_tax,
    (['A', 'N', 'R'])[(hash(i, 7) % 3 + 1)::bigint] as l_returnflag,
    (['F', 'O'])[(hash(i, 8) % 2 + 1)::bigint] as l_linestatus,
    date '1992-01-02' + (hash(i, 9) % 2526)::integer as l_shipdate,
    date '1992-01-31' + (hash(i, 10) % 2466)::integer as l_commitdate,
    date '1992-01-03' + (hash(i, 11) % 2555)::integer as l_receiptdate,
    (['DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'])
        [(hash(i, 12) % 4 + 1)::bigint] as l_shipinstruct,
    (['REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB'])
        [(hash(i, 13) % 7 + 1)::bigint] as l_shipmode,
    substr(
        'carefully final requests sleep furiously above the ironic platelets '
        || 'quickly regular accounts haggle blithely against the pending ideas '
        || 'slyly express deposits nag silently along the even packages wake ',
        (hash(i, 14) % 150 + 1)::bigint, (hash(i, 15) % 34 + 10)::bigint)
        as l_comment
from range(:rows) as numbers(i)
