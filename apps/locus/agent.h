/*
 * agent.h - `locus doctor-agent`: the doctor's other end, on one of the hosts of a list. It is
 * started over ssh by doctor.c, hears orders on stdin and answers on stdout, a line each:
 *
 *     -> (nothing)                     <- "hello VERSION", findings (findings.h), "ready"
 *     -> "clock"                       <- "clock SECONDS" since 1970
 *     -> "secret CHALLENGE PATH"       <- whether it is ours: secrets.h
 *     -> "listen HOST PORT TOKEN"      <- "listening PORT" or "error SENTENCE"; then it serves one
 *                                         measurement, and says "served" or "error SENTENCE"
 *     -> "measure HOST PORT TOKEN"     <- "measured SECONDS BYTES" or "error SENTENCE"
 *
 * Memory    constant
 * Waiting   for orders; it ends with stdin
 */
#ifndef LOCUS_DOCTOR_AGENT_H
#define LOCUS_DOCTOR_AGENT_H

#define AGENT_COMMAND "doctor-agent"
enum { AGENT_LINE_MAX = 2048 };

#endif
