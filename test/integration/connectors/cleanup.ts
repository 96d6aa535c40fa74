import { afterEach } from 'vitest';

/** Ends what a test started, last first, after it; `defer` returns what it was given. */
export function useCleanup(): <Closable extends { close(): unknown }>(closable: Closable) => Closable {
  const open: { close(): unknown }[] = [];
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close();
  });
  return (closable) => {
    open.push(closable);
    return closable;
  };
}
