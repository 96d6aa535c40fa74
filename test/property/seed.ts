/**
 * The same cases in every run, so that a red one is the change's doing. `BANKSMAN_SEED=random` looks for new ones, and `BANKSMAN_SEED=NUMBER`
 * goes back to those of a run that failed (fast-check prints its seed).
 */
import fc from 'fast-check';

const wanted = process.env['BANKSMAN_SEED'] ?? '20261122';
if (wanted !== 'random') fc.configureGlobal({ seed: Number(wanted) });
