# SPDX-License-Identifier: Apache-2.0
# example.py DRIVER URI: ask a server (weir serve) for rows, and give it some.
import sys

import adbc_driver_manager.dbapi as dbapi

with dbapi.connect(
    driver=sys.argv[1], db_kwargs={"uri": sys.argv[2]}, autocommit=True
) as connection, connection.cursor() as cursor:
    cursor.execute(
        "SELECT city, count(*) AS n FROM people WHERE age > ?"
        " GROUP BY city ORDER BY city",
        [17],
    )
    table = cursor.fetch_arrow_table()
    print(table.to_pydict())
    cursor.adbc_ingest("copy", table, temporary=True)
    cursor.execute("SELECT sum(n) FROM copy")
    print("counted again by the server:", cursor.fetchone()[0])
