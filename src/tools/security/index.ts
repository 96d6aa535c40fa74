/** The security tools, in the order they are listed. None of them approves, denies or sets anything. */
import type { Tool } from '#kernel/tool';
import { checkRequestStatus } from './check-request-status.ts';
import { getSecurityLog } from './get-security-log.ts';
import { getSecurityStatus } from './get-security-status.ts';
import { listPendingApprovals } from './list-pending-approvals.ts';
import { reportBlock } from './report-block.ts';

export const securityTools: readonly Tool[] = [reportBlock, getSecurityStatus, listPendingApprovals, getSecurityLog, checkRequestStatus];
