import { OAuthError } from "@edge-op/protocol/oauth/errors";
import { defineChange } from "../serve/define-change.tsx";
import { definePage } from "../serve/define-page.tsx";
import type { ConsoleKey } from "../serve/messages.ts";
import { Actions, Head, List } from "../serve/parts.tsx";
import type { ConsoleRoute, PageCall } from "../serve/route.ts";
import { membersOf, patchBetween } from "./members.ts";
import { apiPath, fieldsOf, fieldsOfKind, type RecordSpec, recordChange, recordPath } from "./record.ts";
import { recordPage } from "./record-pages.tsx";

/**
 * **The pages of a kind of record**: the record, and the forms that create, change, disable, enable and delete it. A change is a merge patch of what
 * the form changes, so that members which the form does not have stay.
 */
export function defineRecord<Shown extends object>(spec: RecordSpec<Shown>): readonly ConsoleRoute[] {
  const { ends } = spec;
  return [
    ...(spec.create === undefined ? [] : [...choiceOf(spec, spec.create), creationOf(spec, spec.create)]),
    ...(ends.edit === undefined ? [] : [editOf(spec, ends.edit)]),
    ...(ends.disable === undefined ? [] : [statusOf(spec, "disable", ends.disable)]),
    ...(ends.disable === undefined ? [] : [statusOf(spec, "enable", "record.enableEnds")]),
    ...(ends.delete === undefined ? [] : [deletionOf(spec, ends.delete)]),
    recordPage(spec),
  ];
}

type Ends = NonNullable<RecordSpec<object>["ends"]["edit"]>;

function creationOf<Shown extends object>(spec: RecordSpec<Shown>, title: ConsoleKey): ConsoleRoute {
  const { path, api, scope, noun, id, isReplaced, kinds } = spec;
  const kindOf = (at: PageCall) => (kinds === undefined ? undefined : at.parameter("kind"));
  const fieldsIn = (at: PageCall) => fieldsOfKind(spec, kindOf(at)).filter(({ only }) => only !== "change");
  return defineChange({
    ...{ path: kinds === undefined ? `${path}/new` : `${path}/new/:kind`, scope, title },
    fieldsOf: (_, at) => fieldsIn(at),
    operations: [`${isReplaced ? "replace" : "create"}${noun}`, ...(spec.warning?.operations ?? [])],
    ...(spec.warning && { warning: spec.warning }),
    ends: spec.ends.create ?? "record.createEnds",
    async find(at) {
      const kind = kindOf(at);
      if (kinds === undefined || kind === undefined) return { name: "" };
      const option = kinds.options.find(([value]) => value === kind);
      if (option === undefined) throw new OAuthError("not_found", "page-unknown");
      return { name: at.t(option[1]), ...kinds.begin(at, kind) };
    },
    request(at, values) {
      const written = fieldsIn(at).filter(({ name }) => values[name] !== "");
      const kind = kinds === undefined ? {} : { [kinds.member]: kindOf(at) };
      const members = { ...kind, ...membersOf(written, values) };
      const body = spec.bodyOf?.(members) ?? members;
      if (!isReplaced) return { method: "POST", path: api, body };
      const { [id]: name, ...others } = body;
      const whole = {
        ...membersOf(
          spec.fields.filter(({ only }) => only === undefined),
          values,
        ),
        ...others,
      };
      return { method: "PUT", path: recordPath(api, String(name)), body: whole, isNew: true };
    },
    done: (at, { body }) => spec.created?.(at, body) ?? recordPath(path, String(body[id])),
    back: () => path,
  });
}

/** The page that chooses the kind of a new record. */
function choiceOf<Shown extends object>(
  { path, scope, kinds }: RecordSpec<Shown>,
  title: ConsoleKey,
): readonly ConsoleRoute[] {
  if (kinds === undefined) return [];
  const choice = definePage({
    ...{ path: `${path}/new`, scope, operations: [] },
    async show({ t }) {
      const items = kinds.options.map(([kind, label]) => ({
        name: t(label),
        actions: [{ href: `${path}/new/${kind}`, text: t("list.choose") }],
      }));
      const children = (
        <>
          <Head title={t(title)} text={t(kinds.text)} />
          <List t={t} items={items} />
          <Actions actions={[{ href: path, text: t("change.cancel") }]} />
        </>
      );
      return { title: t(title), children };
    },
  });
  return [choice];
}

function editOf<Shown extends object>(spec: RecordSpec<Shown>, ends: Ends): ConsoleRoute {
  const fieldsIn = (record: Shown) => fieldsOf(spec, record).filter(({ only }) => only !== "creation");
  return recordChange(spec, {
    ...{ below: "/edit", title: "record.edit", ends },
    ...(spec.warning && { warning: spec.warning }),
    fieldsOf: ({ record }) => fieldsIn(record),
    operation: `${spec.isReplaced ? "replace" : "update"}${spec.noun}`,
    request(at, values, { record, values: before = {} }) {
      const fields = fieldsIn(record);
      const after = membersOf(fields, values, record);
      const path = apiPath(spec, at);
      return spec.isReplaced
        ? { method: "PUT", path, body: after }
        : { method: "PATCH", path, body: patchBetween(membersOf(fields, before, record), after) };
    },
  });
}

function statusOf<Shown extends object>(spec: RecordSpec<Shown>, verb: "disable" | "enable", ends: Ends): ConsoleRoute {
  const status = verb === "enable" ? "active" : (spec.disabled ?? "disabled");
  return recordChange(spec, {
    ...{ below: `/${verb}`, title: spec.verbs?.[verb] ?? `record.${verb}`, ends },
    ...(verb === "disable" ? { isDangerous: true as const } : {}),
    operation: `update${spec.noun}`,
    request: (at) => ({ method: "PATCH", path: apiPath(spec, at), body: { status } }),
  });
}

function deletionOf<Shown extends object>(spec: RecordSpec<Shown>, ends: Ends): ConsoleRoute {
  return recordChange(spec, {
    ...{ below: "/delete", title: "record.delete", ends, isDangerous: true },
    operation: `delete${spec.noun}`,
    request: (at) => ({ method: "DELETE", path: apiPath(spec, at) }),
    done: () => spec.path,
  });
}
