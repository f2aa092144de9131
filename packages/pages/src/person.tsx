import type { User } from "@edge-op/shared/users/user";

/** **A person on a page**: an initial and a line of text. */
export function Person({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <span class="person">
      <span class="avatar" aria-hidden="true">
        {[...name][0]?.toUpperCase()}
      </span>
      <span>{text}</span>
    </span>
  );
}

/** Tells a person from a namesake: their address, or else their username, beside the name. */
export function accountName(user: Pick<User, "username" | "claims">): string {
  const name = displayName(user);
  const other = user.claims.email ?? user.username;
  return other === name ? name : `${name} (${other})`;
}

export function displayName({ username, claims }: Pick<User, "username" | "claims">): string {
  return claims.name ?? claims.email ?? claims.preferred_username ?? username;
}
