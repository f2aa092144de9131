import { Layout } from "@edge-op/pages/layout";
import type { AuthPageFrame } from "../pages/frame.ts";

export interface ConfirmView {
  readonly title: string;
  readonly text: string;
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly submit: string;
}

/** **The page that confirms a removal**: its effect, a button that removes, and a link back. */
export function ConfirmPage({ frame, view }: { readonly frame: AuthPageFrame; readonly view: ConfirmView }) {
  const { t } = frame;
  return (
    <Layout {...frame} title={view.title}>
      <div class="head">
        <h1>{view.title}</h1>
        <p class="muted">{view.text}</p>
      </div>
      <form method="post" action={view.action} class="actions">
        {Object.entries(view.fields).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        <button type="submit" class="filled danger" id="confirm">
          {view.submit}
        </button>
        <a class="button quiet" href="/account" id="cancel">
          {t("confirm.cancel")}
        </a>
      </form>
    </Layout>
  );
}
