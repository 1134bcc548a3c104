/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of every type. Where nanoarrow can append, it does; dictionaries, list
 * views and runs are put together from their parts. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "test/unit/services/scan/make.h"

enum { ROWS = 9 };

#define OK(call) cr_assert_eq((call), NANOARROW_OK, "%s", #call)

/* ---- what formats can say ------------------------------------------------ */

static void set_format(struct ArrowSchema *s, const char *format)
{
    ArrowSchemaInit(s);
    OK(ArrowSchemaSetFormat(s, format));
    OK(ArrowSchemaSetName(s, "x"));
}

static void set_parent(struct ArrowSchema *s, const char *format, int n,
                       const char *const *children)
{
    set_format(s, format);
    OK(ArrowSchemaAllocateChildren(s, n));
    for (int i = 0; i < n; i++) {
        set_format(s->children[i], children[i]);
    }
}

static void begin(const struct ArrowSchema *s, struct ArrowArray *a)
{
    struct ArrowError why;
    ArrowErrorInit(&why);
    cr_assert_eq(ArrowArrayInitFromSchema(a, s, &why), NANOARROW_OK, "%s: %s",
                 s->format, why.message);
    OK(ArrowArrayStartAppending(a));
}

static void end(struct ArrowArray *a)
{
    struct ArrowError why;
    ArrowErrorInit(&why);
    cr_assert_eq(ArrowArrayFinishBuildingDefault(a, &why), NANOARROW_OK, "%s",
                 why.message);
}

/* ---- columns of one buffer, or of texts ---------------------------------- */

static void numbers(const char *format, struct ArrowSchema *s,
                    struct ArrowArray *a)
{
    set_format(s, format);
    begin(s, a);
    for (int i = 0; i < ROWS; i++) {
        if (i % 3 == 1) {
            OK(ArrowArrayAppendNull(a, 1));
        } else if (format[0] == 'f' || format[0] == 'g') {
            OK(ArrowArrayAppendDouble(a, i * 0.5));
        } else {
            OK(ArrowArrayAppendInt(a, format[0] == 'b' ? i % 2 : i));
        }
    }
    end(a);
}

static void int8s(struct ArrowSchema *s, struct ArrowArray *a)
{
    numbers("c", s, a);
}

static void int64s(struct ArrowSchema *s, struct ArrowArray *a)
{
    numbers("l", s, a);
    OK(ArrowSchemaSetMetadata(s, "\1\0\0\0\3\0\0\0key\2\0\0\0ab"));
}

static void doubles(struct ArrowSchema *s, struct ArrowArray *a)
{
    numbers("g", s, a);
}

static void bools(struct ArrowSchema *s, struct ArrowArray *a)
{
    numbers("b", s, a);
}

static void without_nulls(struct ArrowSchema *s, struct ArrowArray *a)
{
    set_format(s, "i");
    begin(s, a);
    for (int i = 0; i < ROWS; i++) {
        OK(ArrowArrayAppendInt(a, i));
    }
    end(a);
}

static void nulls(struct ArrowSchema *s, struct ArrowArray *a)
{
    set_format(s, "n");
    begin(s, a);
    OK(ArrowArrayAppendNull(a, ROWS));
    end(a);
}

static void texts(const char *format, struct ArrowSchema *s,
                  struct ArrowArray *a)
{
    static const char *const words[] = {
        "", "a", "a text of more than twelve bytes", "bc"};
    set_format(s, format);
    begin(s, a);
    for (int i = 0; i < ROWS; i++) {
        const char *word = words[i % 4];
        if (i == 5) {
            OK(ArrowArrayAppendNull(a, 1));
        } else {
            OK(ArrowArrayAppendString(a, ArrowCharView(word)));
        }
    }
    end(a);
}

static void utf8s(struct ArrowSchema *s, struct ArrowArray *a)
{
    texts("u", s, a);
}

static void large_binaries(struct ArrowSchema *s, struct ArrowArray *a)
{
    texts("Z", s, a);
}

static void views(struct ArrowSchema *s, struct ArrowArray *a)
{
    texts("vu", s, a);
}

static void fixed_binaries(struct ArrowSchema *s, struct ArrowArray *a)
{
    set_format(s, "w:3");
    begin(s, a);
    for (int i = 0; i < ROWS; i++) {
        struct ArrowBufferView bytes = {{"abc"}, 3};
        OK(ArrowArrayAppendBytes(a, bytes));
    }
    end(a);
}

static void decimals(struct ArrowSchema *s, struct ArrowArray *a)
{
    struct ArrowDecimal d;
    ArrowDecimalInit(&d, 256, 40, -2);
    set_format(s, "d:40,-2,256");
    begin(s, a);
    for (int i = 0; i < ROWS; i++) {
        ArrowDecimalSetInt(&d, i - 3);
        OK(ArrowArrayAppendDecimal(a, &d));
    }
    end(a);
}

static void empties(struct ArrowSchema *s, struct ArrowArray *a)
{
    set_format(s, "u");
    begin(s, a);
    end(a);
}

/* ---- nested -------------------------------------------------------------- */

static const char *const two[] = {"i", "u"};

static void fill_structs(struct ArrowArray *a)
{
    for (int i = 0; i < ROWS; i++) {
        OK(ArrowArrayAppendInt(a->children[0], i));
        OK(ArrowArrayAppendString(a->children[1], ArrowCharView("some text")));
        OK(ArrowArrayFinishElement(a));
    }
}

static void structs(struct ArrowSchema *s, struct ArrowArray *a)
{
    set_parent(s, "+s", 2, two);
    begin(s, a);
    fill_structs(a);
    end(a);
}

/* A slice of a slice: offsets in the struct and in a child. */
static void slices(struct ArrowSchema *s, struct ArrowArray *a)
{
    structs(s, a);
    a->offset = 2;
    a->length = ROWS - 4;
    a->children[1]->offset = 1;
    a->children[1]->length = ROWS - 1;
}

static void no_columns(struct ArrowSchema *s, struct ArrowArray *a)
{
    set_format(s, "+s");
    begin(s, a);
    a->length = 1234;
    a->null_count = 0;
}

static void fill_lists(struct ArrowArray *a)
{
    for (int i = 0; i < ROWS; i++) {
        if (i == 4) {
            OK(ArrowArrayAppendNull(a, 1));
            continue;
        }
        for (int k = 0; k < i % 3; k++) {
            OK(ArrowArrayAppendInt(a->children[0], i + k));
        }
        OK(ArrowArrayFinishElement(a));
    }
}

static void lists_of(const char *format, struct ArrowSchema *s,
                     struct ArrowArray *a)
{
    static const char *const one[] = {"s"};
    set_parent(s, format, 1, one);
    begin(s, a);
    fill_lists(a);
    end(a);
}

static void lists(struct ArrowSchema *s, struct ArrowArray *a)
{
    lists_of("+l", s, a);
}

static void large_lists(struct ArrowSchema *s, struct ArrowArray *a)
{
    lists_of("+L", s, a);
}

static void list_views(struct ArrowSchema *s, struct ArrowArray *a)
{
    lists_of("+vl", s, a);
}

static void large_list_views(struct ArrowSchema *s, struct ArrowArray *a)
{
    lists_of("+vL", s, a);
}

static void fixed_lists(struct ArrowSchema *s, struct ArrowArray *a)
{
    static const char *const one[] = {"c"};
    set_parent(s, "+w:2", 1, one);
    begin(s, a);
    for (int i = 0; i < ROWS; i++) {
        OK(ArrowArrayAppendInt(a->children[0], i));
        OK(ArrowArrayAppendInt(a->children[0], -i));
        OK(ArrowArrayFinishElement(a));
    }
    end(a);
}

static void maps(struct ArrowSchema *s, struct ArrowArray *a)
{
    ArrowSchemaInit(s);
    OK(ArrowSchemaSetFormat(s, "+m"));
    OK(ArrowSchemaAllocateChildren(s, 1));
    set_parent(s->children[0], "+s", 2, two);
    OK(ArrowSchemaSetName(s->children[0], "entries"));
    s->children[0]->flags = 0;
    s->children[0]->children[0]->flags = 0;
    begin(s, a);
    for (int i = 0; i < ROWS; i++) {
        OK(ArrowArrayAppendInt(a->children[0]->children[0], i));
        OK(ArrowArrayAppendString(a->children[0]->children[1],
                                  ArrowCharView("v")));
        OK(ArrowArrayFinishElement(a->children[0]));
        OK(ArrowArrayFinishElement(a));
    }
    end(a);
}

static void unions(const char *format, struct ArrowSchema *s,
                   struct ArrowArray *a)
{
    set_parent(s, format, 2, two);
    begin(s, a);
    for (int i = 0; i < ROWS; i++) {
        int8_t child = (int8_t)(i % 2);
        if (child == 0) {
            OK(ArrowArrayAppendInt(a->children[0], i));
        } else {
            OK(ArrowArrayAppendString(a->children[1], ArrowCharView("u")));
        }
        OK(ArrowArrayFinishUnionElement(a, child));
    }
    end(a);
}

static void dense_unions(struct ArrowSchema *s, struct ArrowArray *a)
{
    unions("+ud:0,1", s, a);
}

static void sparse_unions(struct ArrowSchema *s, struct ArrowArray *a)
{
    unions("+us:0,1", s, a);
}

static void dictionaries(struct ArrowSchema *s, struct ArrowArray *a)
{
    set_format(s, "C");
    OK(ArrowSchemaAllocateDictionary(s));
    struct ArrowArray values;
    utf8s(s->dictionary, &values);
    begin(s, a);
    for (int i = 0; i < ROWS; i++) {
        OK(ArrowArrayAppendInt(a, ROWS - 1 - i));
    }
    if (a->dictionary->release != NULL) {
        ArrowArrayRelease(a->dictionary);
    }
    ArrowArrayMove(&values, a->dictionary);
    end(a);
}

static void runs(struct ArrowSchema *s, struct ArrowArray *a)
{
    static const char *const parts[] = {"i", "u"};
    set_parent(s, "+r", 2, parts);
    begin(s, a);
    static const char *const values[] = {"first", "second", "third"};
    for (int i = 0; i < 3; i++) {
        OK(ArrowArrayAppendInt(a->children[0], 10 * (i + 1)));
        OK(ArrowArrayAppendString(a->children[1], ArrowCharView(values[i])));
    }
    a->length = 30;
    a->null_count = 0;
    end(a);
}

/* ---- by number ----------------------------------------------------------- */

static const struct {
    const char *name;
    void (*make)(struct ArrowSchema *s, struct ArrowArray *a);
} kinds[] = {
    {"int8", int8s},
    {"int64 with metadata", int64s},
    {"double", doubles},
    {"bool", bools},
    {"without nulls", without_nulls},
    {"null", nulls},
    {"utf8", utf8s},
    {"large binary", large_binaries},
    {"utf8 view", views},
    {"fixed-size binary", fixed_binaries},
    {"decimal256", decimals},
    {"empty", empties},
    {"struct", structs},
    {"slice", slices},
    {"no columns", no_columns},
    {"list", lists},
    {"large list", large_lists},
    {"list view", list_views},
    {"large list view", large_list_views},
    {"fixed-size list", fixed_lists},
    {"map", maps},
    {"dense union", dense_unions},
    {"sparse union", sparse_unions},
    {"dictionary", dictionaries},
    {"run-end encoded", runs},
};

int wt_scan_kinds(void)
{
    return (int)(sizeof(kinds) / sizeof(kinds[0]));
}

const char *wt_scan_kind_name(int kind)
{
    return kinds[kind].name;
}

void wt_scan_make(int kind, struct ArrowSchema *schema,
                  struct ArrowArray *array)
{
    kinds[kind].make(schema, array);
}
