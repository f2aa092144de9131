import type { Child } from "hono/jsx";

/** A line of a list of the account page. */
export interface ItemProps {
  readonly title: string;
  /** Those that are absent are left out. Names are in `bdi`, because their direction may not be the page's. */
  readonly details: readonly Child[];
}

export function Item({ title, details }: ItemProps) {
  const shown = details.filter(Boolean);
  return (
    <div>
      <strong>{title}</strong>
      <p class="muted small">{shown.map((detail, index) => [index > 0 && " · ", detail])}</p>
    </div>
  );
}

/** Links to the page that confirms the removal. */
export function RemoveLink(props: {
  readonly path: string;
  readonly name: string;
  readonly value: string;
  /** The item to be removed, for screen readers that list links without context. */
  readonly subject: string;
  readonly children: string;
}) {
  const query = new URLSearchParams({ [props.name]: props.value });
  return (
    <a
      class="button slim danger"
      href={`${props.path}?${query}`}
      aria-label={`${props.children}: ${props.subject}`}
      data-remove={props.name}
    >
      {props.children}
    </a>
  );
}
