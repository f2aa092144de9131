import { defineChange } from "../serve/define-change.tsx";
import type { ConsoleRoute } from "../serve/route.ts";
import { membersOf, patchBetween } from "./members.ts";
import { apiPath, type RecordSpec, recordChange, recordPath } from "./record.ts";
import { recordPage } from "./record-pages.tsx";

/**
 * **The pages of a kind of record**: the record, and the forms that create, change, disable, enable and delete it. A change is a merge patch of what
 * the form changes, so that members which the form does not have stay.
 */
export function defineRecord<Key extends string, Shown extends object>(
  spec: RecordSpec<Key, Shown>,
): readonly ConsoleRoute[] {
  const { ends } = spec;
  return [
    ...(spec.create === undefined ? [] : [creationOf(spec, spec.create)]),
    ...(ends.edit === undefined ? [] : [editOf(spec, ends.edit)]),
    ...(ends.disable === undefined ? [] : [statusOf(spec, "disable", ends.disable)]),
    ...(ends.disable === undefined ? [] : [statusOf(spec, "enable", "record.enableEnds")]),
    ...(ends.delete === undefined ? [] : [deletionOf(spec, ends.delete)]),
    recordPage(spec),
  ];
}

type Ends<Key extends string> = NonNullable<RecordSpec<Key, object>["ends"]["edit"]>;

function creationOf<Key extends string, Shown extends object>(spec: RecordSpec<Key, Shown>, title: Key): ConsoleRoute {
  const { path, api, scope, messages, noun, id, isReplaced } = spec;
  const fields = spec.fields.filter(({ only }) => only !== "change");
  return defineChange<Key>({
    ...{ path: `${path}/new`, scope, messages, title, fields },
    operations: [`${isReplaced ? "replace" : "create"}${noun}`],
    ends: spec.ends.create ?? "record.createEnds",
    find: async () => ({ name: "" }),
    request(_, values) {
      const written = fields.filter(({ name }) => values[name] !== "");
      const members = membersOf(written, values);
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

function editOf<Key extends string, Shown extends object>(spec: RecordSpec<Key, Shown>, ends: Ends<Key>): ConsoleRoute {
  const fields = spec.fields.filter(({ only }) => only !== "creation");
  return recordChange(spec, {
    ...{ below: "/edit", title: "record.edit", ends, fields },
    operation: `${spec.isReplaced ? "replace" : "update"}${spec.noun}`,
    request(at, values, { record, values: before = {} }) {
      const after = membersOf(fields, values, record);
      const path = apiPath(spec, at);
      return spec.isReplaced
        ? { method: "PUT", path, body: after }
        : { method: "PATCH", path, body: patchBetween(membersOf(fields, before, record), after) };
    },
  });
}

function statusOf<Key extends string, Shown extends object>(
  spec: RecordSpec<Key, Shown>,
  verb: "disable" | "enable",
  ends: Ends<Key>,
): ConsoleRoute {
  const status = verb === "enable" ? "active" : (spec.disabled ?? "disabled");
  return recordChange(spec, {
    ...{ below: `/${verb}`, title: spec.verbs?.[verb] ?? `record.${verb}`, ends },
    ...(verb === "disable" ? { isDangerous: true as const } : {}),
    operation: `update${spec.noun}`,
    request: (at) => ({ method: "PATCH", path: apiPath(spec, at), body: { status } }),
  });
}

function deletionOf<Key extends string, Shown extends object>(
  spec: RecordSpec<Key, Shown>,
  ends: Ends<Key>,
): ConsoleRoute {
  return recordChange(spec, {
    ...{ below: "/delete", title: "record.delete", ends, isDangerous: true },
    operation: `delete${spec.noun}`,
    request: (at) => ({ method: "DELETE", path: apiPath(spec, at) }),
    done: () => spec.path,
  });
}
