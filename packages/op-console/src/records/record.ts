import type { Child } from "hono/jsx";
import type { AdminScope } from "../api/admin-api.ts";
import type { ChangeSpec, Found } from "../serve/define-change.tsx";
import { defineChange } from "../serve/define-change.tsx";
import type { Values } from "../serve/fields.tsx";
import type { ConsoleKey } from "../serve/messages.ts";
import type { Action, Fact } from "../serve/parts.tsx";
import type { ConsoleRoute, PageCall, View } from "../serve/route.ts";
import { type RecordField, valuesOf } from "./members.ts";

/**
 * **A kind of record of the admin API**: its pages and changes are made from its fields (`define-record.tsx`). The texts say what a change ends;
 * those that are missing are changes that the record does not have.
 */
export interface RecordSpec<Shown extends object> {
  /** In the operations of the admin API: `Issuer` of `readIssuer`. */
  readonly noun: string;
  /** The path of its pages; `api` is the one of the admin API. */
  readonly path: string;
  readonly api: `/${string}`;
  /** The member of a list, if it is not named as the path is. */
  readonly member?: string;
  /** The member that names a record. */
  readonly id: string;
  readonly scope: AdminScope;
  readonly kind: ConsoleKey;
  /** Above a list of them. */
  readonly plural: ConsoleKey;
  readonly fields: readonly RecordField[];
  readonly ends: {
    readonly create?: ConsoleKey;
    readonly edit?: ConsoleKey;
    readonly delete?: ConsoleKey;
    readonly disable?: ConsoleKey;
  };
  /** The link and the button that create one. */
  readonly create?: ConsoleKey;
  /** The status of a record that is disabled, and its words, if they are others. */
  readonly disabled?: "disabled" | "suspended";
  readonly verbs?: { readonly disable: ConsoleKey; readonly enable: ConsoleKey };
  /** Records of several kinds: the member that says which, chosen before the form of a creation, which has only its fields. */
  readonly kinds?: {
    readonly member: string;
    readonly text: ConsoleKey;
    readonly options: readonly (readonly [value: string, label: ConsoleKey])[];
    /** What the form of a creation begins with, and what it says above its fields. */
    begin(at: PageCall, kind: string): Pick<Found, "values" | "note">;
  };
  /** Created and changed by PUT, as a whole. */
  readonly isReplaced?: true;
  /** What the confirmation of its creation and its change says of the values. */
  readonly warning?: Warning;
  /** The list can be searched by one of these. */
  readonly conditions?: Readonly<Record<string, ConsoleKey>>;
  nameOf(record: Shown): string;
  detailOf?(record: Shown): readonly (string | undefined)[];
  /** The body of a creation, if it is not that of the fields. */
  bodyOf?(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
  /** A page that shows the result of the creation once. */
  created?(at: PageCall, body: Readonly<Record<string, unknown>>): View | string;
  facts?(at: PageCall, record: Shown): readonly Fact[];
  /** More changes of the record, as links. */
  actions?(at: PageCall, record: Shown): readonly Action[];
  /** More operations of the record's page, beside that of the record, and what it shows of their results. */
  readonly alsoReads?: readonly string[];
  sections?(at: PageCall): Promise<Child>;
}

/** A text about values that are allowed, but often a mistake. */
export interface Warning {
  /** Operations of the admin API that it calls. */
  readonly operations: readonly string[];
  show(at: PageCall, before: Values, after: Values): Promise<Child>;
}

/** The path of a record's page, and of a page below it. */
export function recordPath(path: string, id: string, below = ""): string {
  return `${path}/${encodeURIComponent(id)}${below}`;
}

/** The record in the admin API that the page's path names, and what is below it. */
export function apiPath({ api }: Pick<RecordSpec<object>, "api">, at: Pick<PageCall, "parameter">, below = ""): string {
  return recordPath(api, at.parameter("id"), below);
}

/** The fields of a record of this kind. */
export function fieldsOfKind(
  { fields, kinds }: Pick<RecordSpec<object>, "fields" | "kinds">,
  kind: unknown,
): readonly RecordField[] {
  return kinds === undefined ? fields : fields.filter(({ of }) => of === undefined || of.includes(String(kind)));
}

/** The fields that this record has. */
export function fieldsOf<Shown extends object>(spec: RecordSpec<Shown>, record: Shown): readonly RecordField[] {
  return fieldsOfKind(spec, spec.kinds && Reflect.get(record, spec.kinds.member));
}

export interface FoundRecord<Shown extends object> extends Found {
  readonly record: Shown;
}

/** The options that a change of one record adds to {@link defineChange}. */
interface RecordChange<Shown extends object>
  extends Pick<ChangeSpec<FoundRecord<Shown>>, "title" | "ends" | "isDangerous" | "fields" | "fieldsOf" | "request"> {
  /** The page's path below the record's. */
  readonly below: string;
  /** The operation that it sends. */
  readonly operation: string;
  /** The changed part has a version of its own, or none; the record's version does not apply. */
  readonly isBeside?: true;
  readonly done?: ChangeSpec<FoundRecord<Shown>>["done"];
  readonly warning?: Warning;
}

/** **A change of one record**, which leads back to its page. */
export function recordChange<Shown extends object>(
  spec: RecordSpec<Shown>,
  { below, operation, isBeside, done, ...change }: RecordChange<Shown>,
): ConsoleRoute {
  const back = (at: PageCall) => recordPath(spec.path, at.parameter("id"));
  return defineChange<FoundRecord<Shown>>({
    ...change,
    path: `${spec.path}/:id${below}`,
    scope: spec.scope,
    operations: [`read${spec.noun}`, operation, ...(change.warning?.operations ?? [])],
    kind: spec.kind,
    async find(at) {
      const { body, etag } = await at.api.send<Shown>({ method: "GET", path: apiPath(spec, at) });
      const found = { name: spec.nameOf(body), record: body, values: valuesOf(spec.fields, body) };
      return isBeside ? found : { ...found, etag };
    },
    done: done ?? back,
    back,
  });
}
