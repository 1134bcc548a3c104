// SPDX-License-Identifier: Apache-2.0
//! Files in, rows out.

mod common;

use common::*;
use tempfile::tempdir;

/// Sums over all rows, so that each file must have been read once.
const SUMS: &str = "SELECT v, count(*) AS n, sum(k) AS k, min(s) AS s
                    FROM t GROUP BY v ORDER BY v";

#[tokio::test]
async fn each_format_as_file_and_as_folder() {
    let folder = tempdir().unwrap();
    let mut answers = Vec::new();
    for ending in ["parquet", "csv", "json", "arrow"] {
        let file = folder.path().join(ending);
        make(&file, &format!("t.{ending}"), &series(1000)).await;
        let parts = folder.path().join(format!("{ending}-parts"));
        for i in 0..3 {
            let part =
                format!("SELECT * FROM ({}) WHERE k % 3 = {i}", series(1000));
            make(&parts, &format!("t/{i}.{ending}"), &part).await;
        }
        for data in [file, parts] {
            let data = data.to_str().unwrap();
            let args =
                ["--workers", "2", "--data", data, "--format", "csv", SUMS];
            answers.push(rows(&args).await);
        }
    }
    let first = &answers[0];
    assert_eq!(first.lines().count(), 8, "{first}");
    assert_eq!(first.lines().next(), Some("v,n,k,s"));
    assert_eq!(first.lines().nth(1), Some("0,143,71071,text 0"));
    for answer in &answers {
        assert_eq!(answer, first);
    }
}

#[tokio::test]
async fn partitions_are_columns() {
    let folder = tempdir().unwrap();
    for year in [2023, 2024] {
        let file = format!("t/year={year}/a.parquet");
        make(folder.path(), &file, &series(year - 2000)).await;
    }
    let sql = "SELECT year, count(*) AS n FROM t GROUP BY year ORDER BY year";
    let table = folder.path().join("t");
    for data in [folder.path(), &table] {
        let data = data.to_str().unwrap();
        let args = ["-w", "2", "-d", data, "--format", "ndjson", sql];
        let said = rows(&args).await;
        let expected = "{\"year\":\"2023\",\"n\":23}\n\
                        {\"year\":\"2024\",\"n\":24}\n";
        assert_eq!(said, expected);
    }
}

#[tokio::test]
async fn out_and_in_again() {
    let folder = tempdir().unwrap();
    make(folder.path(), "in/t.parquet", &series(500)).await;
    let data = folder.path().join("in");
    let data = data.to_str().unwrap();
    let sql = "SELECT k, s FROM t WHERE v < 3 ORDER BY k";
    let expected = rows(&["-w", "2", "-d", data, "--format", "csv", sql]).await;
    for ending in ["parquet", "csv", "json", "arrow"] {
        let out = folder.path().join(format!("out.{ending}"));
        let out = out.to_str().unwrap();
        let said = rows(&["-w", "2", "-d", data, "-o", out, sql]).await;
        assert_eq!(said, "");
        let back = "SELECT k, s FROM out ORDER BY k";
        let said = rows(&["-w", "2", "-d", out, "--format", "csv", back]).await;
        assert_eq!(said, expected, "{ending}");
    }
}

#[tokio::test]
async fn all_formats_of_rows() {
    let sql = "SELECT 1 AS a, 'x' AS b UNION ALL SELECT 2, NULL ORDER BY a";
    for (format, expected) in [
        ("csv", "a,b\n1,x\n2,\n"),
        ("tsv", "a\tb\n1\tx\n2\t\n"),
        ("json", "[{\"a\":1,\"b\":\"x\"},{\"a\":2}]\n"),
        ("ndjson", "{\"a\":1,\"b\":\"x\"}\n{\"a\":2}\n"),
        (
            "table",
            "+---+---+\n| a | b |\n+---+---+\n\
             | 1 | x |\n| 2 |   |\n+---+---+\n",
        ),
    ] {
        let said = rows(&["-w", "0", "--format", format, sql]).await;
        assert_eq!(said, expected, "{format}");
    }
    for (format, expected) in [("csv", "a\n"), ("json", "[]\n"), ("ndjson", "")]
    {
        let sql = "SELECT 1 AS a WHERE false";
        let said = rows(&["-w", "0", "--format", format, sql]).await;
        assert_eq!(said, expected, "{format}");
    }
}

#[tokio::test]
async fn scripts_of_several_statements() {
    let folder = tempdir().unwrap();
    make(folder.path(), "t.parquet", &series(100)).await;
    let script = folder.path().join("q.sql");
    let text = "-- a view\nCREATE VIEW u AS SELECT k FROM t WHERE v = 0;\n\
                SET datafusion.execution.batch_size = 100;\n\
                SELECT count(*) AS n FROM u; SELECT 'a;b' AS s;\n";
    std::fs::write(&script, text).unwrap();
    let script = script.to_str().unwrap();
    let data = folder.path().join("t.parquet");
    let data = data.to_str().unwrap();
    let args = ["-w", "2", "-d", data, "--format", "csv", "-f"];
    let rows = rows(&[&args[..], &[script]].concat()).await;
    assert_eq!(rows, "n\n15\ns\na;b\n");
    let mut piped = command(&[&args[..], &["-"]].concat());
    piped.stdin(std::fs::File::open(script).unwrap());
    assert_eq!(said(&mut piped).await.out, "n\n15\ns\na;b\n");
}

/// Answers are the same over everything; and the exchange's figures are there.
#[tokio::test]
async fn analyze_shows_what_went_over_what() {
    let folder = tempdir().unwrap();
    make(folder.path(), "t.parquet", &series(10_000)).await;
    let data = folder.path().to_str().unwrap();
    let sql = "EXPLAIN ANALYZE SELECT s, count(*) FROM t GROUP BY s";
    for (option, value, over) in [
        ("--transport", "shm", "shm"),
        ("--transport", "tcp", "tcp"),
        ("--exchange", "grpc", "grpc"),
    ] {
        let args = ["-w", "2", "-d", data, option, value, sql];
        let said = rows(&args).await;
        let lines = said.lines().skip_while(|l| !l.starts_with("stage"));
        let cells = |line: &str| {
            let cells = line.split("  ").map(str::trim);
            let cells = cells.filter(|cell| !cell.is_empty());
            cells.map(str::to_owned).collect::<Vec<_>>()
        };
        let table = lines.map(cells).collect::<Vec<_>>();
        assert_eq!(
            table[0][1..6],
            ["exchange", "tasks", "rows", "bytes", "skew"]
        );
        let (shuffle, gather) = (&table[1], &table[2]);
        assert_eq!(shuffle[1..4], ["shuffle", "2 -> 2", "10000"], "{said}");
        assert_eq!(gather[1..4], ["coalesce", "2 -> 1", "10000"], "{said}");
        for line in [shuffle, gather] {
            assert!(line[4].ends_with(" kB") || line[4].ends_with(" MB"));
            let skew = line[5].parse::<f64>().unwrap();
            assert!((1.0..3.0).contains(&skew), "{said}");
            let waits = if over == "grpc" { "-" } else { " ms" };
            assert!(line[6].ends_with(waits), "{said}");
            assert!(line[7].ends_with(waits), "{said}");
            assert!(line[8].contains(over), "{over}: {said}");
        }
        assert!(said.contains("10000 rows in "), "{said}");
    }
}

#[tokio::test]
async fn explain_shows_stages() {
    let folder = tempdir().unwrap();
    make(folder.path(), "t.parquet", &series(100)).await;
    let data = folder.path().to_str().unwrap();
    let sql = "SELECT v, count(*) FROM t GROUP BY v";
    let with = rows(&["-w", "2", "-d", data, "--explain", sql]).await;
    assert!(with.contains("Stage 1") && with.contains("NetworkShuffleExec"));
    let explain = format!("EXPLAIN {sql}");
    assert_eq!(rows(&["-w", "2", "-d", data, &explain]).await, with);
}

/// A memory limit makes them spill, and nothing of that stays.
#[tokio::test]
async fn memory_is_limited() {
    let folder = tempdir().unwrap();
    make(folder.path(), "data/t.parquet", &series(300_000)).await;
    let data = folder.path().join("data");
    let temporary = folder.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let sql = "SELECT count(*) AS n, sum(k) AS k FROM
               (SELECT k, row_number() OVER (ORDER BY s) AS r FROM t)
               WHERE r > 0";
    let data = data.to_str().unwrap();
    let args = ["-w", "2", "-d", data, "--memory", "24MB", sql];
    let run = async |option: &[&str]| {
        let mut command = command(&[&args[..], option].concat());
        said(command.env("TMPDIR", &temporary)).await
    };
    let told = run(&["--analyze"]).await.out;
    let spills = told.split("spill_count=").skip(1);
    assert!(spills.filter(|it| !it.starts_with('0')).count() > 0, "{told}");
    let rows = run(&["--format", "csv"]).await;
    assert_eq!(rows.out, "n,k\n300000,44999850000\n", "{}", rows.err);
    assert!(is_empty(&temporary));
}
