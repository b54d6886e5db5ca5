// An id that no other element has. Preact's own count anew in some places, so that two elements get the same.
import { useState } from 'preact/hooks';

let made = 0;

export function useOwnId(): string {
    return useState(() => `i${++made}`)[0];
}
