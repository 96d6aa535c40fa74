/** What is shared goes on; only this caller's waiting for it ends, with the signal's reason, when that aborts. */
export async function orAbort<Result>(shared: Promise<Result>, signal: AbortSignal): Promise<Result> {
  // Its failure is somebody else's, whether or not we still wait.
  shared.catch(() => undefined);
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const leave = () => reject(signal.reason);
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([shared, promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
