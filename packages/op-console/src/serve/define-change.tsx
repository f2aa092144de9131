import { redirect } from "@edge-op/pages/respond-page";
import type { Child } from "hono/jsx";
import { type ApiRequest, type ApiResult, ChangeRefused } from "../api/admin-api.ts";
import { pageCall, respondView } from "./define-page.tsx";
import { changedFields, type Field, Fields, malformedFields, readValues, type Values } from "./fields.tsx";
import type { ConsoleKey } from "./messages.ts";
import { Actions, bytesInPage, clip, Head, RecordHead } from "./parts.tsx";
import type { ConsoleRoute, PageCall, View } from "./route.ts";

/** The record that is changed. */
export interface Found {
  readonly name: string;
  readonly values?: Values;
  /** Its version: the change is refused if the record is another one by then. */
  readonly etag?: string | undefined;
  /** More that the form and the page of the confirmation say. */
  readonly note?: Child;
}

export interface ChangeSpec<Changed extends Found> {
  readonly path: string;
  readonly scope: NonNullable<ConsoleRoute["scope"]>;
  readonly isOfMember?: true;
  readonly operations: readonly string[];
  /** The kind of the record, above its name. */
  readonly kind?: ConsoleKey;
  /** The change, also on the button that confirms it. */
  readonly title: ConsoleKey;
  /** The consequence of the change, shown on the page that confirms it. */
  readonly ends: ConsoleKey;
  readonly isDangerous?: true;
  readonly fields?: readonly Field[];
  /** Those of this record, if records differ. */
  fieldsOf?(found: Changed, at: PageCall): readonly Field[];
  /** What the confirmation says of the values is in frames of this origin. */
  readonly hasFrames?: true;
  /** More that the page of the confirmation says of the values. It may refuse them. */
  readonly warning?: { show(at: PageCall, before: Values, after: Values): Promise<Child> };
  find(at: PageCall): Promise<Changed>;
  request(at: PageCall, values: Values, found: Changed): Omit<ApiRequest, "ifMatch">;
  /** Where the change leads; with `View`, the page that shows its result once. */
  done(at: PageCall, result: ApiResult<ApiBody>, values: Values): string | View;
  /** Where "cancel" leads. */
  back(at: PageCall): string;
}

type ApiBody = Readonly<Record<string, unknown>>;

interface Problem {
  readonly text: ConsoleKey;
  readonly reasons?: readonly string[];
  readonly refusal?: ChangeRefused;
}

/**
 * **A change: a form, a page that confirms it and says what it ends, and the request to the admin API**, with `If-Match` for a record that has a
 * version. A change without fields begins with its confirmation. Every post has a form token.
 */
export function defineChange<Changed extends Found = Found>(given: ChangeSpec<Changed>): ConsoleRoute {
  const { path, scope, operations, isOfMember } = given;
  return {
    ...{ path, scope, operations, ...(isOfMember && { isOfMember }) },
    accepts: ["GET", "POST"],
    async respond(request) {
      const at = await pageCall(request);
      const found = await given.find(at);
      const spec = given.fieldsOf === undefined ? given : { ...given, fields: given.fieldsOf(found, at) };
      const { form } = at;
      if (form === undefined && isTooLarge(found.values ?? {})) return tooLargePage(spec, at, found);
      if (form === undefined) {
        return spec.fields === undefined
          ? confirmation(spec, at, found, {})
          : formPage(spec, at, found, found.values ?? {});
      }
      const values = readValues(spec.fields ?? [], form);
      if (isTooLarge(values)) return tooLargePage(spec, at, found);
      // The version that the person has seen, not the one that is read now.
      const seen = { ...found, etag: form.get("etag") ?? found.etag };
      if (spec.fields !== undefined && form.get("step") !== "confirm") {
        const malformed = malformedFields(spec.fields, values);
        if (malformed.length > 0) {
          const reasons = malformed.map(({ label }) => at.t(label));
          return formPage(spec, at, seen, values, { text: "change.notJson", reasons });
        }
        const isSame = changedFields(spec.fields, found.values ?? {}, values).length === 0;
        if (isSame) return formPage(spec, at, found, values, { text: "change.nothing" });
        try {
          return await confirmation(spec, at, seen, values);
        } catch (error) {
          if (!(error instanceof ChangeRefused)) throw error;
          return formPage(spec, at, seen, values, { text: "change.refused", refusal: error });
        }
      }
      return execute(spec, at, seen, values);
    },
  };
}

/** Bytes of what a form contains: a page has 50 kB. */
const largestForm = 38_000;

function sizeOf(values: Values): number {
  return Object.values(values).reduce((bytes, value) => bytes + bytesInPage(value), 0);
}

function isTooLarge(values: Values): boolean {
  return sizeOf(values) > largestForm;
}

function tooLargePage<Changed extends Found>(
  spec: ChangeSpec<Changed>,
  at: PageCall,
  { name }: Found,
): Promise<Response> {
  const title = titleOf(spec, at);
  const children = (
    <>
      {name === "" ? <Head title={title} /> : <RecordHead kind={title} name={name} />}
      <p class="note bad" role="alert" id="problem">
        {at.t("change.tooLarge")}
      </p>
      <Actions actions={[{ href: spec.back(at), text: at.t("change.cancel") }]} />
    </>
  );
  return respondView(at, { title, children }, { status: 413 });
}

async function execute<Changed extends Found>(
  spec: ChangeSpec<Changed>,
  at: PageCall,
  found: Changed,
  values: Values,
): Promise<Response> {
  let result: ApiResult<ApiBody>;
  try {
    result = await at.api.send({ ...spec.request(at, values, found), ifMatch: found.etag });
  } catch (error) {
    if (!(error instanceof ChangeRefused)) throw error;
    if (error.status === 412) {
      const current = await spec.find(at);
      const problem = { text: "change.outdated" } as const;
      return spec.fields === undefined
        ? confirmation(spec, at, current, values, problem)
        : formPage(spec, at, current, current.values ?? {}, problem);
    }
    const problem = { text: "change.refused", refusal: error } as const;
    return spec.fields === undefined
      ? confirmation(spec, at, found, values, problem)
      : formPage(spec, at, found, values, problem);
  }
  const next = spec.done(at, result, values);
  if (typeof next !== "string") return respondView(at, next);
  return redirect(`${next}${next.includes("?") ? "&" : "?"}done=1`);
}

function titleOf({ kind, title }: Pick<ChangeSpec<Found>, "kind" | "title">, { t }: PageCall): string {
  return kind === undefined ? t(title) : `${t(kind)}: ${t(title)}`;
}

async function formPage<Changed extends Found>(
  spec: ChangeSpec<Changed>,
  at: PageCall,
  found: Found,
  values: Values,
  problem?: Problem,
): Promise<Response> {
  const { t, path } = at;
  const title = titleOf(spec, at);
  const children = (
    <>
      {found.name === "" ? <Head title={title} /> : <RecordHead kind={title} name={found.name} />}
      <ProblemNote at={at} problem={problem} />
      {found.note}
      <form method="post" action={path}>
        <Hidden values={{ token: await at.token(), step: "form", etag: found.etag }} />
        <Fields t={t} fields={spec.fields ?? []} values={values} />
        <div class="actions">
          <button type="submit" id="continue">
            {t("change.continue")}
          </button>
          <a class="button quiet" href={spec.back(at)}>
            {t("change.cancel")}
          </a>
        </div>
      </form>
    </>
  );
  return respondView(at, { title, children }, { status: statusOf(problem) });
}

async function confirmation<Changed extends Found>(
  spec: ChangeSpec<Changed>,
  at: PageCall,
  found: Found,
  values: Values,
  problem?: Problem,
): Promise<Response> {
  const { t, path } = at;
  const title = titleOf(spec, at);
  const before = found.values ?? {};
  const changed = changedFields(spec.fields ?? [], before, values);
  // The form has all of it; what is shown is clipped to what a page has left.
  const longest = (largestForm - sizeOf(values)) / Math.max(1, changed.length);
  const children = (
    <>
      {found.name === "" ? <Head title={title} /> : <RecordHead kind={title} name={found.name} />}
      <ProblemNote at={at} problem={problem} />
      <p>{t(spec.ends)}</p>
      {found.note}
      {await spec.warning?.show(at, before, values)}
      {changed.length > 0 && (
        <dl id="changes">
          {changed.map((field) => (
            <>
              <dt>{t(field.label)}</dt>
              <Changed at={at} field={field} before={before} values={values} longest={longest} />
            </>
          ))}
        </dl>
      )}
      <form method="post" action={path} class="actions">
        <Hidden values={{ ...values, token: await at.token(), step: "confirm", etag: found.etag }} />
        <button type="submit" class={spec.isDangerous ? "filled danger" : undefined} id="confirm">
          {t(spec.title)}
        </button>
        <a class="button quiet" href={spec.back(at)} id="cancel">
          {t("change.cancel")}
        </a>
      </form>
    </>
  );
  const frames = spec.hasFrames ? [at.context.settings.issuer] : [];
  return respondView(at, { title, children }, { status: statusOf(problem), frames });
}

/** JSON is shown as it will be, with its lines. */
function Changed({
  at,
  field,
  before,
  values,
  longest,
}: {
  readonly at: PageCall;
  readonly field: Field;
  readonly before: Values;
  readonly values: Values;
  readonly longest: number;
}) {
  const { t } = at;
  const value = values[field.name];
  if (field.kind === "json" && value) {
    return (
      <dd>
        <pre>{clip(value, longest)}</pre>
      </dd>
    );
  }
  return (
    <>
      {before[field.name] && <dd>{t("change.from", { value: clip(shown(at, field, before), longest / 2) })}</dd>}
      <dd>{t("change.to", { value: clip(shown(at, field, values), longest / 2) })}</dd>
    </>
  );
}

function shown({ t }: PageCall, { name, kind, options }: Field, values: Values): string {
  const value = values[name] ?? "";
  if (kind === "check") return t(value === "true" ? "value.yes" : "value.no");
  if (kind === "secret") return t("change.secret");
  const label = options?.find(([option]) => option === value)?.[1];
  if (label !== undefined) return t(label);
  return value === "" ? t("change.none") : value.replaceAll("\n", ", ");
}

function Hidden({ values }: { readonly values: Readonly<Record<string, string | undefined>> }) {
  return (
    <>{Object.entries(values).map(([name, value]) => value && <input type="hidden" name={name} value={value} />)}</>
  );
}

function statusOf(problem: Problem | undefined): number {
  return problem === undefined ? 200 : (problem.refusal?.status ?? (problem.text === "change.outdated" ? 412 : 400));
}

/** The reasons of a refusal are those of the admin API, in English, and name its fields. */
function ProblemNote({ at: { t }, problem }: { readonly at: PageCall; readonly problem: Problem | undefined }) {
  if (problem === undefined) return null;
  const { text, refusal } = problem;
  const reasons =
    refusal === undefined
      ? (problem.reasons ?? [])
      : refusal.fields.length > 0
        ? refusal.fields.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`))
        : [refusal.message];
  return (
    <div class="note bad" role="alert" id="problem">
      {t(text)}
      {reasons.map((reason) => (
        <p lang={refusal && "en"}>{reason}</p>
      ))}
    </div>
  );
}
