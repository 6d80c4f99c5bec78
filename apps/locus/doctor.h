/*
 * doctor.h - `locus doctor`: before a job, whether these machines will carry it; every line says
 * what to do.
 *
 * Memory    its own
 * Waiting   as findings' makers state
 */
#ifndef LOCUS_DOCTOR_DOCTOR_H
#define LOCUS_DOCTOR_DOCTOR_H

/* argv: "doctor", options. Returns the exit status: 0 when nothing failed. */
int doctor_main(int argc, char **argv);

#endif
