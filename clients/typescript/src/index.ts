export { Client, type ClientOptions } from './client.js';
export { BerthError, type ErrorCode } from './errors.js';
export { frames, type BerthEvent, type Frame, type StreamOptions } from './events.js';
export { operations } from './generated/operations.js';
export * as money from './money.js';
export { randomUuid } from './platform.js';
export type { Rental, RentOptions, WaitOptions } from './rentals.js';
export type { Answer, CallOptions, Given, Item, Open, Operation, OperationName, PagedName, Schema } from './types.js';
export * as webhooks from './webhooks.js';
