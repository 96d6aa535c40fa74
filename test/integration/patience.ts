/**
 * Before each file: who waits for a condition waits for it, not for the second that the test runner gives by default. A slow machine needs more, and a
 * condition that never comes is told all the same. Whoever says a time of their own keeps it.
 */
import { vi } from 'vitest';

const timeout = 60_000;
const { waitFor, waitUntil } = vi;

vi.waitFor = (look, options) => waitFor(look, typeof options === 'number' ? options : { timeout, ...options });
vi.waitUntil = (look, options) => waitUntil(look, typeof options === 'number' ? options : { timeout, ...options });
