/** How long a request can still be answered, in few characters: `59m left`, `45s left`, `expired`. */
export function countdown(expiresAt: number, now: number): string {
  const seconds = Math.floor((expiresAt - now) / 1000);
  if (seconds <= 0) return 'expired';
  return seconds < 60 ? `${seconds}s left` : `${Math.floor(seconds / 60)}m left`;
}
