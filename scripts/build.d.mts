export function bundle(): Promise<void>
export function declarations(): void
