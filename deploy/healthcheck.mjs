/** Exit 0 where the address answers 200 within four seconds. The image has no curl. */
try {
  const { status } = await fetch(process.argv[2] ?? '', { signal: AbortSignal.timeout(4000) });
  process.exitCode = status === 200 ? 0 : 1;
} catch {
  process.exitCode = 1;
}
