/** How a request stands, and what its call does, each in a word for people. */
import type { RequestStatus } from '#kernel/approval/request';
import type { Impact } from '#kernel/tiers';
import { t } from './l10n.ts';

export const statusNames: Record<RequestStatus, string> = {
  pending: t('pending'),
  approved: t('approved'),
  consumed: t('consumed'),
  denied: t('denied'),
  revoked: t('revoked'),
  cancelled: t('cancelled'),
  expired: t('expired'),
};

export const impactNames: Record<Impact, string> = {
  none: t('none'),
  reversible: t('reversible'),
  disruptive: t('disruptive'),
  irreversible: t('irreversible'),
};
