import type { AuthPageFrame } from "./frame.ts";

/** **The hidden fields of a form.** */
export function HiddenFields({ fields }: { readonly fields: Readonly<Record<string, string>> }) {
  return (
    <>
      {Object.entries(fields).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
    </>
  );
}

/** The attributes of a field whose value was refused: the note with the id `problem` says why. */
export function invalidIf(isInvalid: boolean) {
  return isInvalid ? ({ "aria-invalid": "true", "aria-describedby": "problem" } as const) : {};
}

export interface OtherWay {
  /** The field that the button posts. */
  readonly name: string;
  readonly value: string;
  readonly id: string;
  readonly text: string;
}

/**
 * **The buttons below the forms of a step**: other ways to go on (`undefined`: not offered), then one that cancels. With `formId` they are buttons of
 * that form, whose endpoint keeps what was typed in it.
 */
export function OtherWays(props: {
  readonly frame: AuthPageFrame;
  readonly form: { readonly action: string; readonly fields: Readonly<Record<string, string>> };
  readonly ways?: readonly (OtherWay | undefined)[];
  readonly canCancel: boolean;
  readonly formId?: string | undefined;
}) {
  const { frame, form, ways = [], canCancel, formId } = props;
  const cancel = canCancel ? { name: "cancel", value: "1", id: "cancel", text: frame.t("flow.cancel") } : undefined;
  const offered = [...ways, cancel].filter((way) => way !== undefined);
  if (offered.length === 0) return null;
  const buttons = offered.map((way) => <WayButton way={way} formId={formId} />);
  if (formId !== undefined) return <div class="ways">{buttons}</div>;
  return (
    <form method="post" action={form.action} class="ways">
      <HiddenFields fields={form.fields} />
      {buttons}
    </form>
  );
}

/** A button that leads elsewhere, whatever the fields of its form contain. */
export function WayButton({ way, formId }: { readonly way: OtherWay; readonly formId?: string | undefined }) {
  const { name, value, id, text } = way;
  return (
    <button type="submit" class="link" name={name} value={value} id={id} form={formId} formnovalidate>
      {text}
    </button>
  );
}
