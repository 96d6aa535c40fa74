/** What the service's host needs of the inner folders, of which it may import nothing itself. */

export { isIntact } from '#approval/card';
export { connectService } from '#connectors/service/service-link';
export { holdLock, isLocked } from '#stores/sqlite/hold-lock';
export * from './config/service-config.ts';
export { createApp, type LocalApp } from './create-app.ts';
