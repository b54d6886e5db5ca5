// Addresses: every view has its own, filters are part of it.
import { useLocation, useRoute } from 'preact-iso';

export function useParams(): Record<string, string> {
    return useRoute().params;
}

export type SetQuery = (patch: Record<string, string | undefined>, how?: { replace?: boolean }) => void;

/** The query of the address, and a change of it: what is undefined or empty goes. */
export function useQuery(): [Record<string, string>, SetQuery] {
    const { path, query, route } = useLocation();
    const set: SetQuery = (patch, how = {}) => {
        const wanted = new URLSearchParams(location.search);
        for (const [name, value] of Object.entries(patch)) {
            if (value === undefined || value === '') wanted.delete(name);
            else wanted.set(name, value);
        }
        const text = wanted.toString();
        route(text ? `${path}?${text}` : path, how.replace ?? false);
    };
    return [query, set];
}

/** An address of this site, else nothing: a link from elsewhere must not lead on to somewhere else. */
export function ownAddress(text: string | undefined): string | undefined {
    return text && /^\/(?![/\\])[^\s\\]*$/.test(text) ? text : undefined;
}

let routeTo: ((address: string, replace?: boolean) => void) | undefined;

/** Hands the router to whatever is no component. */
export function RouterHandle() {
    routeTo = useLocation().route;
    return null;
}

export function go(address: string, replace = false): void {
    if (routeTo) routeTo(address, replace);
    else location.assign(address);
}
