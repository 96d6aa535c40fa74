/** How long a request can still be answered, in few characters: `59m`, below ten minutes `4:12`, `expired`. */
export function countdown(expiresAt: number, now: number): string {
  const seconds = Math.floor((expiresAt - now) / 1000);
  if (seconds <= 0) return 'expired';
  const minutes = Math.floor(seconds / 60);
  return minutes >= 10 ? `${minutes}m` : `${minutes}:${String(seconds % 60).padStart(2, '0')}`;
}

/** The same where it stands in a sentence: `4:12 left`, `expired`. */
export function timeLeft(expiresAt: number, now: number): string {
  return expiresAt - now < 1000 ? 'expired' : `${countdown(expiresAt, now)} left`;
}
