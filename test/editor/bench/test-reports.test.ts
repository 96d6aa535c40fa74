import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { sumReports } from '../../../scripts/lib/test-reports.mjs';

describe('the sum over all vitest runs', () => {
  it('adds up, and counts a file that could not be loaded as failed', () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'banksman-reports-'));
    const report = { numPassedTests: 3, numFailedTests: 1, numPendingTests: 1, numTodoTests: 0 };
    writeFileSync(path.join(folder, 'a.json'), JSON.stringify({ ...report, testResults: [] }));
    writeFileSync(path.join(folder, 'b.json'), JSON.stringify({ ...report, testResults: [{ status: 'failed', assertionResults: [] }] }));
    expect(sumReports(folder)).toEqual({ passed: 6, failed: 3, skipped: 2 });
    rmSync(folder, { recursive: true });
  });
});
