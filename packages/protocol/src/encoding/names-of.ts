/** **The names of a table**, typed and in the order of its rows: for tables that are keyed by a protocol value. */
export function namesOf<Table extends object>(table: Table): readonly (keyof Table & string)[] {
  return Object.keys(table) as (keyof Table & string)[];
}
