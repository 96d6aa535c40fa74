/** The security tools, in the order they are listed. None of them approves, denies or sets anything. */
import type { Tool } from '#kernel/tool';
import { getSecurityLog, getSecurityStatus, reportBlock } from './blocks.ts';
import { checkRequestStatus, listPendingApprovals } from './requests.ts';
export const securityTools: readonly Tool[] = [reportBlock, getSecurityStatus, listPendingApprovals, getSecurityLog, checkRequestStatus];
