import { ClientMark } from "@edge-op/pages/client-mark";
import { Layout } from "@edge-op/pages/layout";
import { respondPage } from "@edge-op/pages/respond-page";
import { createTranslator } from "@edge-op/pages/translator";
import { readDeployment } from "../../deployment.ts";
import { describeClient } from "../../pages/describe-client.ts";
import { frameOf } from "../../pages/frame.ts";
import { HiddenFields } from "../../pages/hidden-fields.tsx";
import { signUpMessages } from "../../sign-up/messages.ts";
import { longestName } from "../../sign-up/read-name.ts";
import { newcomerOf } from "../newcomer.ts";
import type { StepPageRequest } from "../step.ts";

const problems = { name: "badName", address: "badAddress", domain: "badDomain", closed: "closed" } as const;

/** **The page on which a person signs up.** It depends on no account. Cost: 0; 1 object call with a session cookie; for a logo as in describe-client.ts. */
export async function showSignUp(at: StepPageRequest): Promise<Response> {
  const { context, isolate, request, authorization, form, flow } = at;
  const frame = frameOf(context, request, authorization?.request.uiLocales);
  const t = createTranslator(signUpMessages, frame.t.language);
  const client = authorization && (await describeClient(context, isolate, authorization.client));
  const newcomer = newcomerOf(flow);
  const problem = flow.problem?.kind === "refused" ? flow.problem.method : undefined;
  const text = Object.hasOwn(problems, problem ?? "") ? problems[problem as keyof typeof problems] : undefined;
  const domains = readDeployment(context.env).signUp.domains.join(", ");
  const invalid = (name: "name" | "address") => {
    const isWrong = name === "name" ? problem === "name" : problem === "address" || problem === "domain";
    return isWrong ? { "aria-invalid": "true" as const, "aria-describedby": "problem" } : {};
  };
  const address = flow.typed ?? newcomer?.address.address ?? authorization?.request.loginHint ?? "";
  const page = (
    <Layout {...frame} title={t("title")}>
      <div class="head">
        {client && <ClientMark name={client.name} logoUri={client.logoUri} />}
        <h1>{t("title")}</h1>
        <p class="muted">
          {client ? t("to", { client: client.name }) : t("toProvider", { provider: frame.branding.name })}
        </p>
      </div>
      {text && (
        <p class="note bad" role="alert" id="problem">
          {t(text, { domains })}
        </p>
      )}
      <form method="post" action={form.action}>
        <HiddenFields fields={form.fields} />
        <label for="name">{t("name")}</label>
        <input
          id="name"
          name="name"
          type="text"
          autocomplete="name"
          required
          maxlength={longestName}
          value={flow.marks.typedName ?? newcomer?.name ?? ""}
          autofocus
          {...invalid("name")}
        />
        <label for="address">{t("address")}</label>
        <input
          id="address"
          name="address"
          type="text"
          inputmode="email"
          autocomplete="email"
          autocapitalize="none"
          spellcheck={false}
          required
          maxlength={254}
          value={address}
          {...invalid("address")}
        />
        <div class="actions">
          <button type="submit" id="sign-up">
            {t("submit")}
          </button>
        </div>
      </form>
      <form method="post" action={form.action} class="actions">
        <HiddenFields fields={form.fields} />
        <button type="submit" class="quiet" name="account" value="existing" id="has-account">
          {t("hasAccount")}
        </button>
        {client && (
          <button type="submit" class="plain" name="cancel" value="1" id="cancel">
            {t("cancel")}
          </button>
        )}
      </form>
    </Layout>
  );
  return respondPage(page, {
    status: problem === undefined ? 200 : 400,
    formTarget: authorization?.request.redirectUri,
  });
}
