// Operations of a host whose members the views read through one place.
import type { Answer, BerthError, Item, OperationName, PagedName } from 'berth-client';
import { useChange, usePages, useRead, type Change, type Listed, type Read } from '../../api';

export type Machine = Answer<'show_machine'> & { label?: string | null; hours?: Hours | null };
export type MachineEntry = Item<'list_machines'> & { label?: string | null };

/** Shares are hundredths of a per cent; null where there was nothing to share. */
export interface Hours {
    window_days: number;
    observed_ms: string;
    online_ms: string;
    listed_ms: string;
    rented_ms: string;
    online_bps: number | null;
    listed_bps: number | null;
    /** Of the time that it was listed. */
    rented_bps: number | null;
}

export interface MadeEnrollment {
    enrollment_id: string;
    token: string | null;
    expires_at: string;
    install_line?: string;
}

export interface EnrollmentState {
    enrollment_id: string;
    state: 'waiting' | 'used' | 'expired' | (string & {});
    machine_id?: string | null;
    expires_at: string;
}

export interface HostRental {
    job_id: string;
    machine_id: string;
    state: string;
    started_at: string;
    ended_at: string | null;
    end_reason: string | null;
    ready: boolean;
    metered_ms: string;
    earned_micro: string;
}

export function useMachine(id: string, everyS: number): Read<Machine> {
    return useRead('show_machine', { path: { id } }, { every: everyS }) as Read<Machine>;
}

export function useMachines(everyS: number): Listed<MachineEntry> {
    return usePages('list_machines', { query: { limit: 100 } }, { every: everyS }) as Listed<MachineEntry>;
}

/** Asked for every two seconds until it is over. */
export function useEnrollment(id: string, isOver: boolean): Read<EnrollmentState> {
    return useRead('show_enrollment' as OperationName, { path: { id } } as object,
        { every: isOver ? undefined : 2 }) as unknown as Read<EnrollmentState>;
}

export function useHostRentals(): Listed<HostRental> {
    return usePages('list_host_rentals' as PagedName, {} as object, { every: 30 }) as unknown as Listed<HostRental>;
}

interface Run<Body, Told> extends Pick<Change<'show_machine'>, 'busy' | 'error' | 'reset'> {
    run: (given: { path: { id: string }; body: Body }) => Promise<Told | undefined>;
}

type Renaming = Run<{ label: string | null; expected_version?: string }, { label: string | null }>;

/** A change of the label alone; null takes it away. */
export function useRename(): Renaming {
    return useChange('edit_machine' as OperationName, { refresh: ['show_machine', 'list_machines'] }) as unknown as
        Renaming;
}

type Preempting = Run<{ reason: string }, { job_id: string; notice_at: string; deadline_at: string }>;

/** Gives the interruptible rental that runs its notice. */
export function usePreempt(): Preempting {
    return useChange('preempt_rental' as OperationName, { refresh: ['show_machine', 'list_machines'] }) as unknown as
        Preempting;
}

/** An account becomes a host's with its first token; until then the server has nothing to list. */
export function isNoHostYet(error: BerthError | undefined): boolean {
    return error?.status === 403;
}
