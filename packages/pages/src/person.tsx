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

export function displayName({ username, claims }: Pick<User, "username" | "claims">): string {
  return claims.name ?? claims.email ?? claims.preferred_username ?? username;
}
