// What the package exports.

export { newKey } from './call.ts';
export { Tallybook } from './client.ts';
export type { ClientCredentials } from './client-credentials.ts';
export * from './errors.ts';
export type * from './operations.ts';
export type * from './options.ts';
export type { Outbox, OutboxItem, OutboxOptions, OutboxWrite, Outcome } from './outbox.ts';
export * from './outbox-store.ts';
export { Quantity } from './quantity.ts';
export type { Page, Pages, Result } from './result.ts';
export type { SubscribeOptions, Subscription } from './subscription.ts';
export { type VerifyOptions, verifyWebhook, WebhookError } from './webhooks.ts';
