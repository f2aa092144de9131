import type { PersonalDates } from "@edge-op/pages/describe-values";
import type { User } from "@edge-op/shared/users/user";
import { type UserAddress, verifiedAddress } from "@edge-op/shared/users/user-addresses";
import type { AuthTranslator } from "../pages/messages.ts";
import { primaryPath, removePath } from "./account-areas.ts";
import { Item, List, RemoveLink, Section } from "./account-parts.tsx";
import { mayAddAddress } from "./other-addresses.tsx";

interface AddressView {
  readonly user: User;
  readonly addresses: readonly UserAddress[];
  readonly canChangeAddress: boolean;
  readonly dates: PersonalDates;
}

/** **The addresses of the account page**: the one of the claims, confirmed or not, further ones, and those that were replaced. */
export function AddressSection({ t, view }: { readonly t: AuthTranslator; readonly view: AddressView }) {
  const { user, addresses, canChangeAddress } = view;
  const { email } = user.claims;
  const { date } = view.dates;
  const primary = addresses.find(({ key }) => key === verifiedAddress(user.claims)?.key);
  const change = email === undefined ? "addAddress" : primary === undefined ? "confirmAddress" : "changeAddress";
  const action = canChangeAddress && (
    <a class="button quiet slim" href="/account/address" id="change-address">
      {t(`account.${change}`)}
    </a>
  );
  return (
    <Section id="addresses" title={t("account.address")} action={action}>
      {email === undefined && <p class="muted small">{t("account.noAddress")}</p>}
      <List>
        {email !== undefined && (
          <li>
            <Item
              title={email}
              details={[
                primary === undefined
                  ? t("account.addressUnconfirmed")
                  : t("account.addressConfirmed", { date: date(primary.verifiedAtMs) }),
              ]}
            />
          </li>
        )}
        {addresses.map((each) => {
          const { address, heldUntilMs } = each;
          if (each === primary) return null;
          if (heldUntilMs === undefined) return <OtherAddress t={t} date={date} address={each} />;
          return (
            <li>
              <Item title={address} details={[t("account.addressHeld", { date: date(heldUntilMs) })]} />
            </li>
          );
        })}
      </List>
      {canChangeAddress && mayAddAddress(addresses, user) && (
        <p class="small">
          <a href="/account/address?further=1" id="add-address">
            {t("addresses.add")}
          </a>
        </p>
      )}
    </Section>
  );
}

interface OtherAddressProps extends Pick<PersonalDates, "date"> {
  readonly t: AuthTranslator;
  readonly address: UserAddress;
}

function OtherAddress({ t, date, address }: OtherAddressProps) {
  const query = new URLSearchParams({ address: address.key });
  return (
    <li>
      <Item title={address.address} details={[t("addresses.confirmed", { date: date(address.verifiedAtMs) })]} />
      <a
        class="button quiet slim"
        href={`${primaryPath}?${query}`}
        aria-label={`${t("addresses.primary")}: ${address.address}`}
      >
        {t("addresses.primary")}
      </a>
      <RemoveLink path={removePath} name="address" value={address.key} subject={address.address}>
        {t("addresses.remove")}
      </RemoveLink>
    </li>
  );
}
