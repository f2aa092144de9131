import type { Paged } from "../api/resources.ts";
import { definePage } from "../serve/define-page.tsx";
import type { ConsoleKey } from "../serve/messages.ts";
import {
  type Action,
  Actions,
  clip,
  Done,
  type Fact,
  Facts,
  Head,
  List,
  Pager,
  RecordHead,
  Search,
  Section,
  searched,
} from "../serve/parts.tsx";
import type { ConsoleRoute, PageCall } from "../serve/route.ts";
import { type RecordField, valuesOf } from "./members.ts";
import { apiPath, fieldsOf, type RecordSpec, recordPath } from "./record.ts";

interface Lists {
  readonly path: string;
  readonly title: ConsoleKey;
  readonly text?: ConsoleKey;
  /** A list of each, with a place of its own; the first may be searched. */
  readonly records: readonly [RecordSpec<object>, ...RecordSpec<object>[]];
}

/** Of all lists of a page, which has 50 kB. */
const mostItems = 50;
/** Bytes of the whole record, beside its facts and lists. */
const longestRecord = 10_000;

/** **A page of lists of records**: keyset pages of the admin API, side by side, of which nothing is counted. */
export function defineLists({ path, title, text, records }: Lists): ConsoleRoute {
  const [{ scope }] = records;
  return definePage({
    ...{ path, scope, operations: records.map(({ noun }) => `list${noun}s`) },
    async show(at) {
      const { t, query } = at;
      const lists = await Promise.all(records.map((spec) => listOf(at, spec, spec.plural !== title, records.length)));
      const children = (
        <>
          <Head title={t(title)} text={text && t(text)} />
          <Done t={t} query={query} />
          {lists}
        </>
      );
      return { title: t(title), children };
    },
  });
}

async function listOf({ api, t, query, path }: PageCall, spec: RecordSpec<object>, hasTitle: boolean, lists: number) {
  const { member = spec.api.slice(1) } = spec;
  const names = Object.fromEntries(Object.entries(spec.conditions ?? {}).map(([name, key]) => [name, t(key)]));
  const found = await api.get<Paged & Readonly<Record<string, readonly object[]>>>(spec.api, {
    ...searched(query, names),
    limit: String(Math.floor(mostItems / lists)),
    cursor: query.get(member) ?? undefined,
  });
  const children = (
    <>
      {spec.conditions && <Search t={t} path={path} query={query} conditions={names} />}
      <List
        t={t}
        items={(found[member] ?? []).map((record) => ({
          name: spec.nameOf(record),
          note: noteOf(t, record),
          detail: spec.detailOf?.(record) ?? [],
          actions: [{ href: recordPath(spec.path, String(Reflect.get(record, spec.id))), text: t("list.open") }],
        }))}
      />
      <Pager t={t} path={path} query={query} next={found.next_cursor} name={member} />
      {spec.create && <Actions actions={[{ href: `${spec.path}/new`, text: t(spec.create) }]} />}
    </>
  );
  return hasTitle ? <Section title={t(spec.plural)}>{children}</Section> : children;
}

function noteOf(t: PageCall["t"], record: object): string | undefined {
  const status: unknown = Reflect.get(record, "status");
  return status === "disabled" || status === "suspended" || status === "leaving"
    ? t(`record.status.${status}`)
    : undefined;
}

/** **The page of a record**: its fields, what can be done with it, and the whole of it. */
export function recordPage<Shown extends object>(spec: RecordSpec<Shown>): ConsoleRoute {
  return definePage({
    ...{ path: `${spec.path}/:id`, scope: spec.scope },
    operations: [`read${spec.noun}`, ...(spec.alsoReads ?? [])],
    async show(at) {
      const { t, query } = at;
      const [record, sections] = await Promise.all([at.api.get<Shown>(apiPath(spec, at)), spec.sections?.(at)]);
      const children = (
        <>
          <RecordHead kind={t(spec.kind)} name={spec.nameOf(record)} />
          {noteOf(t, record) && <p class="note bad">{noteOf(t, record)}</p>}
          <Done t={t} query={query} />
          <Facts t={t} facts={factsOf(at, spec, record)} />
          <Actions actions={actionsOf(at, spec, record)} />
          {sections}
          <details>
            <summary>{t("record.whole")}</summary>
            <pre class="secret">{clip(JSON.stringify(record, null, 2), longestRecord)}</pre>
          </details>
        </>
      );
      return { title: `${t(spec.kind)} ${spec.nameOf(record)}`, children };
    },
  });
}

/** What the fields say of the record, without members that it does not have; what is JSON is in the whole record, and a secret nowhere. */
function factsOf<Shown extends object>(at: PageCall, spec: RecordSpec<Shown>, record: Shown): readonly Fact[] {
  const { id, facts } = spec;
  const { t } = at;
  const fields = fieldsOf(spec, record);
  const values = valuesOf(fields, record);
  const status: unknown = Reflect.get(record, "status");
  const isList = ({ kind, withoutText }: RecordField) => kind === "lines" && withoutText !== "absent";
  const shown = fields.filter(
    (field) =>
      field.name !== id &&
      field.kind !== "json" &&
      field.kind !== "secret" &&
      (values[field.name] !== "" || field.kind === "check" || isList(field)),
  );
  return [
    [t("record.id"), String(Reflect.get(record, id))],
    ...(status === undefined ? [] : [[t("record.status"), String(status)] as const]),
    ...shown.map(({ name, label, kind }): Fact => {
      const value = values[name] ?? "";
      return [t(label), kind === "check" ? value === "true" : value === "" ? undefined : value.split("\n")];
    }),
    ...(facts?.(at, record) ?? []),
  ];
}

function actionsOf<Shown extends object>(at: PageCall, spec: RecordSpec<Shown>, record: Shown): readonly Action[] {
  const { t } = at;
  const link = (below: string, text: ConsoleKey, isDangerous = false): Action => ({
    href: recordPath(spec.path, at.parameter("id"), below),
    text: t(text),
    isDangerous,
  });
  const isActive = Reflect.get(record, "status") !== (spec.disabled ?? "disabled");
  const verb = isActive ? "disable" : "enable";
  return [
    ...(spec.ends.edit === undefined ? [] : [link("/edit", "record.edit")]),
    ...(spec.actions?.(at, record) ?? []),
    ...(spec.ends.disable === undefined ? [] : [link(`/${verb}`, spec.verbs?.[verb] ?? `record.${verb}`, isActive)]),
    ...(spec.ends.delete === undefined ? [] : [link("/delete", "record.delete", true)]),
  ];
}
