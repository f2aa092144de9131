import type { User } from "@edge-op/shared/users/user";
import { type UserAddress, verifiedAddress } from "@edge-op/shared/users/user-addresses";
import type { AuthPageFrame } from "../pages/frame.ts";
import { dateFormat, Item } from "./account-list.tsx";

interface AddressView {
  readonly user: User;
  readonly addresses: readonly UserAddress[];
  readonly canChangeAddress: boolean;
}

/** **The addresses of the account page**: the one of the claims, confirmed or not, and those that it has replaced. */
export function AddressSection({ frame: { t }, view }: { readonly frame: AuthPageFrame; readonly view: AddressView }) {
  const { user, addresses, canChangeAddress } = view;
  const { email } = user.claims;
  const date = dateFormat(t.language, { dateStyle: "medium" });
  const primary = addresses.find(({ key }) => key === verifiedAddress(user.claims)?.key);
  const change = email === undefined ? "addAddress" : primary === undefined ? "confirmAddress" : "changeAddress";
  return (
    <section>
      <h2>{t("account.address")}</h2>
      {email === undefined && <p class="muted small">{t("account.noAddress")}</p>}
      <ul class="list">
        {email !== undefined && (
          <li>
            <Item title={email}>
              {primary === undefined
                ? t("account.addressUnconfirmed")
                : t("account.addressConfirmed", { date: date(primary.verifiedAtMs) })}
            </Item>
          </li>
        )}
        {addresses.map(({ address, heldUntilMs }) => {
          if (heldUntilMs === undefined) return null;
          return (
            <li>
              <Item title={address}>{t("account.addressHeld", { date: date(heldUntilMs) })}</Item>
            </li>
          );
        })}
      </ul>
      {canChangeAddress && (
        <a class="button quiet top" href="/account/address" id="change-address">
          {t(`account.${change}`)}
        </a>
      )}
    </section>
  );
}
