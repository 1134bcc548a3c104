// SPDX-License-Identifier: Apache-2.0
//! Answers of workers are those of one process, or there are none.

mod common;

use std::path::Path;

use common::*;
use tempfile::{TempDir, tempdir};

/// Three partitions p; v has nulls, also at both ends of each.
const ROWS: &str = "
    SELECT value AS id, value % 3 AS p,
           CASE WHEN value % 4 = 0 OR value < 4 OR value > 56 THEN NULL
                ELSE value * 10 END AS v
    FROM generate_series(1, 60)";

async fn data() -> TempDir {
    let folder = tempdir().unwrap();
    // Several files, so that there is something to share out.
    for i in 0..=3 {
        let part = format!("SELECT * FROM ({ROWS}) WHERE id / 20 = {i}");
        make(folder.path(), &format!("t/{i}.parquet"), &part).await;
    }
    let two = "SELECT nullif(value, 0) AS b FROM generate_series(7, 8)";
    make(folder.path(), "u.parquet", two).await;
    let edges = "SELECT value AS a, value + 1 AS b FROM generate_series(1, 9)";
    make(folder.path(), "edges.parquet", edges).await;
    folder
}

const WORKERS: [&[&str]; 2] =
    [&["-w", "4"], &["-w", "2", "--exchange", "grpc"]];

async fn answer(data: &Path, how: &[&str], sql: &str) -> Said {
    let data = data.to_str().unwrap();
    let args = ["-q", "-d", data, "--format", "csv", sql];
    run(&[how, &args].concat()).await
}

/// All statements, in one go of each kind of cluster.
async fn same(data: &Path, statements: &[&str]) {
    let script = statements.join(";\n");
    let alone = answer(data, &["-w", "0"], &script).await;
    assert_eq!(alone.status, 0, "{}", alone.err);
    for how in WORKERS {
        let got = answer(data, how, &script).await;
        assert_eq!(got.status, 0, "{how:?}: {}", got.err);
        let pairs = alone.out.lines().zip(got.out.lines()).enumerate();
        for (i, (one, other)) in pairs {
            assert_eq!(one, other, "{how:?}: line {i} of {}", got.out);
        }
        assert_eq!(alone.out, got.out, "{how:?}");
    }
}

#[tokio::test]
async fn windows_keep_their_filters_and_ignore_nulls() {
    let data = data().await;
    let over = "OVER (PARTITION BY p ORDER BY id)";
    let mut all = vec![format!(
        "SELECT id, sum(id) FILTER (WHERE id > 2) {over} AS s,
                count(*) FILTER (WHERE v IS NULL) OVER (PARTITION BY p
                    ORDER BY id ROWS 2 PRECEDING) AS n
         FROM t ORDER BY id"
    )];
    for call in [
        "last_value(v) IGNORE NULLS",
        "first_value(v) IGNORE NULLS",
        "lag(v) IGNORE NULLS",
        "lead(v, 2) IGNORE NULLS",
        "nth_value(v, 2) IGNORE NULLS",
        "nth_value(v, 2)",
        "count(DISTINCT v)",
        "sum(v)",
        "row_number()",
        "ntile(4)",
    ] {
        all.push(format!("SELECT id, {call} {over} AS w FROM t ORDER BY id"));
        // In both directions, one of which is the other reversed.
        all.push(format!(
            "SELECT id, {call} {over} AS w, {call} OVER (PARTITION BY p
                 ORDER BY id DESC) AS x FROM t ORDER BY id"
        ));
    }
    let all = all.iter().map(String::as_str).collect::<Vec<_>>();
    same(data.path(), &all).await;
    // Not only the same: right.
    let first = answer(data.path(), &["-w", "2"], all[0]).await;
    let first = first.out.lines().take(8).collect::<Vec<_>>();
    let right = ["id,s,n", "1,,1", "2,,1", "3,3,1", "4,4,2", "5,5,1", "6,9,1"];
    assert_eq!(first[..7], right);
}

#[tokio::test]
async fn windows_over_one_partition_of_a_key() {
    let data = data().await;
    write(data.path(), "rest.csv", "k,v\n1,2\n2,3\n3,4\n");
    let over = "OVER (PARTITION BY p ORDER BY id)";
    let all = [
        &*format!("SELECT id, sum(id) {over} FROM t WHERE p = 1 ORDER BY id"),
        &*format!("SELECT id, lag(v) {over} FROM t WHERE p = 1 ORDER BY id"),
        &*format!(
            "SELECT * FROM (SELECT id, p, rank() {over} AS r FROM t)
             WHERE p = 1 ORDER BY id"
        ),
        "SELECT max(1.0) OVER (PARTITION BY q.c) AS m
         FROM (SELECT -2.0 AS c FROM t GROUP BY id) AS q
             LEFT JOIN rest ON q.c <> q.c",
    ];
    same(data.path(), &all).await;
}

#[tokio::test]
async fn line_ends_within_quotes_split_no_row() {
    let folder = tempdir().unwrap();
    let few = "a,b\n1,\"x\ny\"\n2,\"\n\n\"\n3,z\n";
    std::fs::write(folder.path().join("few.csv"), few).unwrap();
    let mut many = String::from("a,b\n");
    for i in 0..300 {
        many += &format!("{i},\"line {i}\nand, another\n\"\n");
    }
    std::fs::write(folder.path().join("many.csv"), many).unwrap();
    let all = [
        "SELECT count(*), sum(a), max(b) FROM few",
        "SELECT a % 2 AS c, count(*) FROM few GROUP BY c ORDER BY c",
        "SELECT count(*), sum(a), min(b), max(b) FROM many",
        "SELECT a, b FROM many ORDER BY a",
    ];
    same(folder.path(), &all).await;
    let count = "SELECT count(*) AS n FROM many";
    let got = answer(folder.path(), &["-w", "4"], count).await;
    assert_eq!(got.out, "n\n300\n", "{}", got.err);
    // Who knows better has such files split.
    std::fs::write(folder.path().join("few.csv"), "a,b\n1,x\n2,y\n").unwrap();
    let split = "SET datafusion.catalog.newlines_in_values = false;
                 SELECT a % 2 AS c, max(b) FROM few GROUP BY c ORDER BY c";
    same(folder.path(), &[split]).await;
}

#[tokio::test]
async fn a_scalar_subquery_of_two_rows_fails() {
    let data = data().await;
    for sql in [
        "SELECT id FROM t WHERE id >= (SELECT b FROM u)",
        "SELECT sum(id + (SELECT b FROM u)) FROM t",
    ] {
        for how in [WORKERS[0], WORKERS[1], &["-w", "0"]] {
            let got = answer(data.path(), how, sql).await;
            assert_eq!(got.status, 1, "{how:?} {sql}: {}", got.err);
            let why = "Scalar subquery returned more than one row";
            assert!(got.err.contains(why), "{how:?}: {}", got.err);
        }
    }
}

#[tokio::test]
async fn scalar_subqueries_at_every_place() {
    let data = data().await;
    let one = "(SELECT max(b) FROM u)"; // 8
    let none = "(SELECT b FROM u WHERE b > 99)";
    let all = [
        format!("SELECT sum(id + {one}) AS s FROM t"),
        "SELECT DISTINCT (SELECT 'a' FROM u WHERE b > 99) AS c FROM t
         WHERE id < 0"
            .into(),
        format!("SELECT p, max(id - {one}) FROM t GROUP BY p ORDER BY p"),
        format!("SELECT count(*) FILTER (WHERE id > {one}) AS n FROM t"),
        format!("SELECT id FROM t ORDER BY abs(id - {one}), id LIMIT 9"),
        format!(
            "SELECT id % {one} AS g, count(*) FROM t GROUP BY g ORDER BY g"
        ),
        format!(
            "SELECT p, count(*) FROM t GROUP BY p
             HAVING count(*) > {one} ORDER BY p"
        ),
        format!(
            "SELECT t.id, e.b FROM t JOIN edges e
             ON t.id = e.a AND e.b < {one} ORDER BY t.id"
        ),
        format!("SELECT e.a FROM edges e JOIN u ON e.a = {one} ORDER BY e.a"),
        format!(
            "SELECT id, sum(id * {one}) OVER (PARTITION BY p ORDER BY id) AS s
             FROM t ORDER BY id"
        ),
        format!(
            "SELECT id, rank() OVER (PARTITION BY id % {one} ORDER BY id)
             FROM t ORDER BY id"
        ),
        format!(
            "SELECT id, {one} AS m, {none} AS z FROM t ORDER BY id LIMIT 3"
        ),
        format!("SELECT count(*) FROM t WHERE id > {none}"),
        format!("SELECT id FROM t WHERE id IN (1, {one}) ORDER BY id"),
        format!(
            "SELECT (SELECT max(id) FROM t WHERE id < {one}) AS m,
                    (SELECT count(*) FROM t x WHERE x.p = t.p) AS n
             FROM t ORDER BY id LIMIT 2"
        ),
        format!(
            "SELECT id FROM t WHERE id < {one}
             UNION ALL SELECT a FROM edges WHERE a > {one} ORDER BY 1"
        ),
        format!(
            "SELECT CASE WHEN id > {one} THEN 1 END AS c, count(*)
                 FROM t GROUP BY c ORDER BY c"
        ),
    ];
    let all = all.iter().map(String::as_str).collect::<Vec<_>>();
    same(data.path(), &all).await;
}

#[tokio::test]
async fn a_recursive_query_may_join_tables() {
    let data = data().await;
    let all = [
        "WITH RECURSIVE way AS (
             SELECT a, b FROM edges WHERE a = 1
             UNION ALL
             SELECT way.a, edges.b FROM way JOIN edges ON way.b = edges.a)
         SELECT a, count(*), max(b) FROM way GROUP BY a",
        "WITH RECURSIVE n AS (
             SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 20)
         SELECT count(*), sum(t.id) FROM n JOIN t ON n.i = t.id",
    ];
    same(data.path(), &all).await;
}

#[tokio::test]
async fn packed_text_is_shared_out_whole() {
    let folder = tempdir().unwrap();
    for (kind, ending, packed) in [
        ("CSV", "csv.gz", "gzip"),
        ("CSV", "csv.bz2", "bzip2"),
        ("CSV", "csv.xz", "xz"),
        ("CSV", "csv.zst", "zstd"),
        ("JSON", "json.gz", "gzip"),
    ] {
        let data = folder.path().join(ending);
        for i in 0..3 {
            let file = data.join(format!("t/{i}.{ending}"));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            let from = series(100 + i);
            let (file, header) = (
                file.display(),
                match kind {
                    "CSV" => ", 'format.has_header' 'true'",
                    _ => "",
                },
            );
            let copy = format!(
                "COPY ({from}) TO '{file}' STORED AS {kind}
                 OPTIONS ('format.compression' '{packed}'{header})"
            );
            rows(&["-w", "0", &copy]).await;
        }
        let all = [
            "SELECT v, count(*), sum(k), min(s) FROM t GROUP BY v ORDER BY v",
            "SELECT count(*) AS n FROM t",
            "SELECT k, s FROM t ORDER BY k, s LIMIT 20",
        ];
        same(&data, &all).await;
        let got = answer(&data, &["-w", "4"], all[1]).await;
        assert_eq!(got.out, "n\n303\n", "{ending}: {}", got.err);
        // It is the workers that read it.
        let plan = answer(&data, &["-w", "2", "--explain"], all[0]).await;
        assert!(plan.out.contains("NetworkShuffleExec"), "{}", plan.out);
    }
}

#[tokio::test]
async fn tiny_tables_on_many_workers() {
    let folder = tempdir().unwrap();
    std::fs::write(folder.path().join("c.csv"), "a,b\n1,2\n").unwrap();
    std::fs::write(folder.path().join("h.csv"), "a,b\n").unwrap();
    // Of these, no number of partitions takes all bytes in equal pieces.
    let lines = "{\"a\":1}\n".repeat(3) + " \n\n";
    std::fs::write(folder.path().join("j.json"), lines).unwrap();
    let odd = "a,b\n".to_owned() + &"1,2\n33,4\n".repeat(3);
    std::fs::write(folder.path().join("o.csv"), odd).unwrap();
    for n in 5..9 {
        make(folder.path(), &format!("p{n}.parquet"), &series(n)).await;
    }
    let all = "SELECT a, count(*) FROM c GROUP BY a;
               SELECT count(*), sum(b) FROM c;
               SELECT a, count(*) FROM h GROUP BY a;
               SELECT a, count(*) FROM j GROUP BY a;
               SELECT a, sum(b) FROM o GROUP BY a ORDER BY a;
               SELECT v, count(*) FROM p5 GROUP BY v ORDER BY v;
               SELECT v, count(*) FROM p6 GROUP BY v ORDER BY v;
               SELECT v, count(*) FROM p7 GROUP BY v ORDER BY v;
               SELECT v, count(*) FROM p8 GROUP BY v ORDER BY v;
               SET datafusion.catalog.newlines_in_values = false;
               SELECT a, sum(b) FROM c GROUP BY a;
               SELECT a, sum(b) FROM o GROUP BY a ORDER BY a";
    let alone = answer(folder.path(), &["-w", "0"], all).await;
    assert_eq!(alone.status, 0, "{}", alone.err);
    for how in [
        &["-w", "2"][..],
        &["-w", "4"],
        &["-w", "8"],
        &["-w", "2", "--partitions", "64"],
        &["-w", "3", "--partitions", "7"],
    ] {
        let got = answer(folder.path(), how, all).await;
        assert_eq!(got.status, 0, "{how:?}: {}", got.err);
        assert_eq!(got.out, alone.out, "{how:?}");
    }
}

#[tokio::test]
async fn json_may_be_arrays() {
    let folder = tempdir().unwrap();
    let write = |file: &str, text: &str| write(folder.path(), file, text);
    write("one.json", "\n[{\"a\": 1, \"b\": \"x\"},\n {\"a\": 2}, {\"a\": 1}]");
    for i in 0..5 {
        write(&format!("t/{i}.json"), &format!("[{{\"a\":{i}}},{{\"a\":1}}]"));
    }
    let all = [
        "SELECT a, count(*), min(b) FROM one GROUP BY a ORDER BY a",
        "SELECT a, count(*) FROM t GROUP BY a ORDER BY a",
        "SELECT count(*), sum(a) FROM t",
    ];
    same(folder.path(), &all).await;
}

#[tokio::test]
async fn arrow_files_of_tables_with_partitions() {
    let folder = tempdir().unwrap();
    for year in [2023, 2024] {
        let file = format!("in/t/year={year}/a.parquet");
        make(folder.path(), &file, &series(year - 2000)).await;
    }
    let data = folder.path().join("in");
    let out = folder.path().join("out.arrow");
    let (data, out) = (data.to_str().unwrap(), out.to_str().unwrap());
    let sql =
        "SELECT *, [arrow_cast(s, 'Dictionary(Int32, Utf8)')] AS l FROM t";
    for workers in ["0", "2"] {
        rows(&["-w", workers, "-d", data, "-o", out, sql]).await;
        let back = "SELECT year, count(*) AS n, count(DISTINCT l) AS l FROM out
                    GROUP BY year ORDER BY year";
        let args = ["-w", workers, "-d", out, "--format", "csv", back];
        assert_eq!(rows(&args).await, "year,n,l\n2023,23,23\n2024,24,24\n");
    }
}

/// What is SET holds for workers, too: here a time zone, which is part of what
/// some functions compute.
#[tokio::test]
async fn options_reach_workers() {
    let data = data().await;
    let all = ["SET datafusion.execution.time_zone = '+02:00';
         SELECT p, min(to_timestamp(id)), max(date_trunc('day',
                to_timestamp(id * 10000))) FROM t GROUP BY p ORDER BY p"];
    same(data.path(), &all).await;
}

/// What does not travel whole says why, and stays here. When one of these fails
/// because there are stages, take it out of docs/sql.md.
#[tokio::test]
async fn what_stays_on_one_node_says_why() {
    let data = data().await;
    let over = "OVER (PARTITION BY p ORDER BY id)";
    for (sql, why) in [
        (
            format!("SELECT sum(id) FILTER (WHERE id > 2) {over} FROM t"),
            "WindowAggExec does not travel whole",
        ),
        (
            format!("SELECT lag(v) IGNORE NULLS {over} FROM t"),
            "WindowAggExec does not travel whole",
        ),
        (
            "WITH RECURSIVE way AS (SELECT a, b FROM edges UNION ALL
                 SELECT way.a, edges.b FROM way JOIN edges ON way.b = edges.a)
             SELECT a, count(*) FROM way GROUP BY a"
                .into(),
            "a recursive query runs on one node",
        ),
        (
            "SELECT a.id FROM t AS a
                 LEFT ANTI JOIN generate_series(0, 3) AS g(c) ON true
                 LEFT ANTI JOIN t AS b ON true"
                .into(),
            "LazyMemoryExec does not travel whole",
        ),
    ] {
        let how = ["-w", "2", "--explain"];
        let plan = answer(data.path(), &how, &sql).await;
        assert!(plan.out.contains("OneNodeExec: "), "{sql}: {}", plan.out);
        assert!(plan.out.contains(why), "{sql}: {}", plan.out);
    }
    // And what travels is distributed.
    for sql in [
        format!("SELECT id, sum(id) {over} FROM t"),
        format!("SELECT id, lag(v) {over} FROM t"),
        "SELECT count(*) FILTER (WHERE id > 2), count(DISTINCT v) FROM t"
            .into(),
        "SELECT p, max(id) FROM t WHERE id > (SELECT min(b) FROM u)
         GROUP BY p"
            .into(),
    ] {
        let plan = answer(data.path(), &["-w", "2", "--explain"], &sql).await;
        assert!(plan.out.contains("Network"), "{sql}: {}", plan.out);
        assert!(!plan.out.contains("OneNodeExec"), "{sql}: {}", plan.out);
    }
}

#[tokio::test]
async fn grouping_sets_whose_states_are_merged_on_the_way() {
    let data = data().await;
    let merged = "SET distributed.partial_reduce = true; ";
    for groups in ["ROLLUP (p)", "CUBE (p, v)", "p, v"] {
        let sql = format!(
            "SELECT p, count(*) AS n, sum(id) AS s FROM t
             GROUP BY {groups} ORDER BY p, n, s"
        );
        let alone = answer(data.path(), &["-w", "0"], &sql).await;
        assert_eq!(alone.status, 0, "{}", alone.err);
        assert!(alone.out.lines().count() > 3, "{}", alone.out);
        for how in WORKERS {
            let sql = format!("{merged}{sql}");
            let got = answer(data.path(), how, &sql).await;
            assert_eq!(got.status, 0, "{how:?}: {}", got.err);
            assert_eq!(alone.out, got.out, "{how:?}: {groups}");
        }
    }
    let sql = "EXPLAIN SELECT p, v, count(*) FROM t GROUP BY p, v";
    let sql = format!("{merged}{sql}");
    let plan = answer(data.path(), &["-w", "2"], &sql).await;
    assert!(plan.out.contains("PartialReduce"), "{}", plan.out);
}

#[tokio::test]
async fn a_series_of_which_no_column_is_wanted() {
    let data = data().await;
    let all = [
        "SELECT a.id FROM t AS a
             LEFT ANTI JOIN generate_series(0, 3) AS g(c) ON true
             LEFT ANTI JOIN t AS b ON true",
        "SELECT a.id FROM t AS a
             RIGHT JOIN generate_series(0, 7) AS g(c) ON true
             LEFT JOIN edges AS b ON a.v = b.a
             ORDER BY a.id",
        "SELECT count(*) FROM generate_series(0, 3) AS g(c), t",
    ];
    same(data.path(), &all).await;
}

#[tokio::test]
async fn one_row_of_an_empty_table_that_was_split() {
    let data = data().await;
    let none = "SELECT value AS id, value AS v
        FROM generate_series(1, 5) WHERE value > 5";
    make(data.path(), "none.parquet", none).await;
    let all = [
        "SELECT nullif(1, count(CAST(NULL AS BIGINT))) AS c FROM none
         HAVING count(v) FILTER (WHERE CAST(NULL AS BOOLEAN)) = 0",
        "(SELECT max(TIMESTAMP '2024-01-31 23:59:59') AS c FROM none)
         EXCEPT ALL (SELECT TIMESTAMP '2000-02-29 12:30:15' FROM none)",
        "SELECT count(*) AS n FROM none HAVING count(v) = 0",
    ];
    same(data.path(), &all).await;
}
