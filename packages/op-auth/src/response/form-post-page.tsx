import type { Script } from "@edge-op/pages/assets";
import { Layout } from "@edge-op/pages/layout";
import type { AuthPageFrame } from "../pages/frame.ts";

export const submitScript: Script = { name: "submit.js", body: "document.forms[0].submit();" };

export interface FormPostView {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
}

/**
 * **The form that posts an authorization response to the client**, by script or by its button.
 *
 * @see https://openid.net/specs/oauth-v2-form-post-response-mode-1_0.html
 */
export function FormPostPage({ frame, view }: { readonly frame: AuthPageFrame; readonly view: FormPostView }) {
  const { t } = frame;
  return (
    <Layout {...frame} location={undefined} title={t("redirect.title")} scripts={[submitScript]} submitsOnce={false}>
      <form method="post" action={view.action} class="head">
        <h1>{t("redirect.title")}</h1>
        {Object.entries(view.fields).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        <div class="actions">
          <button type="submit" class="quiet">
            {t("redirect.submit")}
          </button>
        </div>
      </form>
    </Layout>
  );
}
