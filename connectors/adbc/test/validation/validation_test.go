// SPDX-License-Identifier: Apache-2.0

// Package validation runs ADBC's own validation suite for drivers, as its Go
// module has it, on engines by Weir and, to compare, on the engines alone.
//
//	suite --> ADBC's driver manager --> libadbc_driver_weir.so --> weir serve
//	                               \--> the engine's own driver
//
// WEIR_BUILD_DIR has the driver and the weir command; WEIR_DUCKDB and
// WEIR_ADBC_SQLITE are the engines' drivers.
package validation

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/apache/arrow-adbc/go/adbc"
	"github.com/apache/arrow-adbc/go/adbc/drivermgr"
	suites "github.com/apache/arrow-adbc/go/adbc/validation"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/suite"
)

// An engine, and what the suite has to know of it.
type engine struct {
	driver  string // its own
	entry   string
	place   string // the option that says where the database is
	serve   []string
	catalog string
	schema  string
	modes   []string // of ingestion that it has
	schemas bool     // of parameters
}

var duckdb = engine{
	driver: os.Getenv("WEIR_DUCKDB"), entry: "duckdb_adbc_init", place: "path",
	serve:   []string{"--write", "--create"},
	catalog: "data", schema: "main", schemas: true,
	modes: []string{adbc.OptionValueIngestModeCreate,
		adbc.OptionValueIngestModeAppend, adbc.OptionValueIngestModeReplace,
		adbc.OptionValueIngestModeCreateAppend},
}

var sqlite = engine{
	driver: os.Getenv("WEIR_ADBC_SQLITE"), place: "uri",
	serve: []string{"--adbc", os.Getenv("WEIR_ADBC_SQLITE"),
		"--allow-files", "/", "--write"},
	catalog: "main", schemas: true,
	modes: duckdb.modes,
}

// Each test has an empty database, and with Weir a server of it.
type quirks struct {
	engine  engine
	direct  bool
	file    string
	server  *exec.Cmd
	address string
}

func (q *quirks) SetupDriver(t *testing.T) adbc.Driver {
	q.file = filepath.Join(t.TempDir(), "data.db")
	if q.direct {
		return drivermgr.Driver{}
	}
	weir := filepath.Join(os.Getenv("WEIR_BUILD_DIR"), "weir")
	q.server = exec.Command(weir,
		append(append([]string{"serve"}, q.engine.serve...), q.file)...)
	out, err := q.server.StdoutPipe()
	if err == nil {
		err = q.server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal("weir serve gives no address: ", err)
	}
	q.address = strings.TrimSpace(line)
	return drivermgr.Driver{}
}

func (q *quirks) TearDownDriver(t *testing.T, _ adbc.Driver) {
	if q.direct {
		return
	}
	_ = q.server.Process.Signal(syscall.SIGTERM)
	if err := q.server.Wait(); err != nil {
		t.Error("weir serve: ", err)
	}
}

func (q *quirks) DatabaseOptions() map[string]string {
	if !q.direct {
		build := os.Getenv("WEIR_BUILD_DIR")
		return map[string]string{
			"driver": filepath.Join(build, "libadbc_driver_weir.so"),
			"uri":    q.address,
		}
	}
	options := map[string]string{
		"driver": q.engine.driver, q.engine.place: q.file}
	if q.engine.entry != "" {
		options["entrypoint"] = q.engine.entry
	}
	return options
}

func (q *quirks) SupportsBulkIngest(mode string) bool {
	return slices.Contains(q.engine.modes, mode)
}

func (q *quirks) BindParameter(int) string                    { return "?" }
func (q *quirks) SupportsConcurrentStatements() bool          { return true }
func (q *quirks) SupportsPartitionedData() bool               { return !q.direct }
func (q *quirks) SupportsStatistics() bool                    { return false }
func (q *quirks) SupportsTransactions() bool                  { return !q.direct }
func (q *quirks) SupportsGetParameterSchema() bool            { return q.engine.schemas }
func (q *quirks) SupportsDynamicParameterBinding() bool       { return true }
func (q *quirks) SupportsErrorIngestIncompatibleSchema() bool { return true }

// The driver has these; Go's driver manager does not hand them out.
func (q *quirks) SupportsCurrentCatalogSchema() bool { return false }
func (q *quirks) SupportsGetSetOptions() bool        { return false }
func (q *quirks) SupportsExecuteSchema() bool        { return false }

func (q *quirks) Catalog() string         { return q.engine.catalog }
func (q *quirks) DBSchema() string        { return q.engine.schema }
func (q *quirks) Alloc() memory.Allocator { return memory.DefaultAllocator }

// What an engine says of itself is its own affair: see connectionTests.
func (q *quirks) GetMetadata(adbc.InfoCode) interface{} { return nil }

func (q *quirks) SampleTableSchemaMetadata(string, arrow.DataType) arrow.Metadata {
	return arrow.Metadata{}
}

// With a connection of its own that ends with it.
func (q *quirks) with(do func(adbc.Connection) error) error {
	db, err := drivermgr.Driver{}.NewDatabase(q.DatabaseOptions())
	if err != nil {
		return err
	}
	defer db.Close()
	connection, err := db.Open(context.Background())
	if err != nil {
		return err
	}
	defer connection.Close()
	return do(connection)
}

func (q *quirks) CreateSampleTable(name string, rows arrow.RecordBatch) error {
	return q.with(func(connection adbc.Connection) error {
		statement, err := connection.NewStatement()
		if err != nil {
			return err
		}
		defer statement.Close()
		err = statement.SetOption(adbc.OptionKeyIngestTargetTable, name)
		if err == nil {
			err = statement.Bind(context.Background(), rows)
		}
		if err == nil {
			_, err = statement.ExecuteUpdate(context.Background())
		}
		return err
	})
}

func (q *quirks) DropTable(connection adbc.Connection, name string) error {
	statement, err := connection.NewStatement()
	if err != nil {
		return err
	}
	defer statement.Close()
	err = statement.SetSqlQuery(`DROP TABLE IF EXISTS "` + name + `"`)
	if err == nil {
		_, err = statement.ExecuteUpdate(context.Background())
	}
	return err
}

func run(t *testing.T, e engine, direct bool) {
	if e.driver == "" {
		t.Skip("its driver is not there")
	}
	q := func() *quirks { return &quirks{engine: e, direct: direct} }
	t.Run("Database", func(t *testing.T) {
		suite.Run(t, &suites.DatabaseTests{Quirks: q()})
	})
	t.Run("Connection", func(t *testing.T) {
		suite.Run(t, &suites.ConnectionTests{Quirks: q()})
	})
	t.Run("Statement", func(t *testing.T) {
		suite.Run(t, &suites.StatementTests{Quirks: q()})
	})
}

func TestDuckDBDirect(t *testing.T) { run(t, duckdb, true) }
func TestDuckDBWeir(t *testing.T)   { run(t, duckdb, false) }
func TestSQLiteDirect(t *testing.T) { run(t, sqlite, true) }
func TestSQLiteWeir(t *testing.T)   { run(t, sqlite, false) }
