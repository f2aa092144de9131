/** The one function of workerd's `node:crypto` that is used; Node's own types would declare its globals in every Worker. */
declare module "node:crypto" {
  interface ScryptOptions {
    readonly N: number;
    readonly r: number;
    readonly p: number;
    readonly maxmem: number;
  }
  export function scrypt(
    password: string | Uint8Array,
    salt: Uint8Array,
    keyLength: number,
    options: ScryptOptions,
    callback: (error: Error | null, key: Uint8Array) => void,
  ): void;
}
