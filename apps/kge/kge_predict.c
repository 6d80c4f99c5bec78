#include "fail.h"
#include "model.h"
#include "predict.h"
#include "programs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct using
{
    struct model model;
    const struct saved_tensor *entities, *relations;
    struct names entity_names, relation_names;
    float *query;
};

static void open(struct predict *p)
{
    struct using *u = p->program;
    const struct saved *s = &p->model;
    struct model *m = &u->model;
    m->kind = saved_says(s, "model", "rescal") ? MODEL_RESCAL : MODEL_COMPLEX;
    m->is_reciprocal = saved_says(s, "reciprocal", "true");
    m->dim = (size_t)saved_number(s, "dim");
    if (m->kind == MODEL_COMPLEX && m->dim % 2) saved_fail(s, "its \"dim\" is odd");
    u->entities = saved_take(s, "entities", TENSORS_F32, 0, m->dim);
    u->relations = saved_take(s, "relations", TENSORS_F32, 0, model_relation_floats(m));
    m->entities = (uint32_t)u->entities->rows;
    m->relations = (uint32_t)u->relations->rows / (m->is_reciprocal ? 2 : 1);
    saved_names(s, "entity_names", m->entities, &u->entity_names);
    p->alone[0] = &u->entity_names;
    saved_names(s, "relation_names", m->relations, &u->relation_names);
    u->query = take_memory(m->dim, sizeof *u->query);
}

/* Or WordNet's first sense of a word: as a noun, a verb, an adjective or an adverb. */
static uint32_t entity_of(const struct using *u, struct field word)
{
    static const char *const endings[] = {".n.01", ".v.01", ".a.01", ".r.01"};
    char name[256];
    uint32_t entity = predict_row(&u->entity_names, u->model.entities, word, 0);
    for (size_t i = 0; entity == NAMES_NONE && i < sizeof endings / sizeof *endings; i++) {
        snprintf(name, sizeof name, "%.*s%s", (int)word.length, word.text, endings[i]);
        entity = names_find(&u->entity_names, name, strlen(name));
    }
    return entity;
}

static float score_of(const struct using *u, uint32_t answer)
{
    return vec_best()->dot(u->query, saved_row(u->entities, answer), u->model.dim);
}

static void ask(struct using *u, enum model_side side, uint32_t given, uint32_t relation)
{
    uint32_t row = model_relation_row(&u->model, side, relation);
    model_query(&u->model, side, u->query, saved_row(u->entities, given),
                saved_row(u->relations, row));
}

static void say_nearest(struct predict *p, uint32_t entity)
{
    struct using *u = p->program;
    size_t dim = u->model.dim;
    const float *own = saved_row(u->entities, entity);
    float length = sqrtf(vec_best()->dot(own, own, dim));
    for (uint32_t e = 0; e < u->model.entities; e++) {
        const float *other = saved_row(u->entities, e);
        float lengths = length * sqrtf(vec_best()->dot(other, other, dim));
        if (e != entity)
            predict_offer(p, e, lengths > 0 ? vec_best()->dot(own, other, dim) / lengths : 0);
    }
    for (size_t i = 0; i < p->candidate_count; i++) {
        predict_name(p, "entity", &u->entity_names, entity, 0);
        predict_name(p, "near", &u->entity_names, p->candidates[i].number, 0);
        predict_number(p, "cosine", (double)p->candidates[i].score);
        predict_end(p);
    }
}

/* The candidate stands in the place of the question mark, if there is one. */
static void say_fact(struct predict *p, const struct top *c)
{
    static const char *const names[] = {"subject", "relation", "object"};
    const struct using *u = p->program;
    for (size_t i = 0; i < 3; i++) {
        if (c && field_is(p->field[i], "?"))
            predict_name(p, names[i], &u->entity_names, c->number, 0);
        else
            predict_text(p, names[i], p->field[i]);
    }
}

static void say_answers(struct predict *p)
{
    const struct using *u = p->program;
    for (uint32_t e = 0; e < u->model.entities; e++) predict_offer(p, e, score_of(u, e));
    for (size_t i = 0; i < p->candidate_count; i++) {
        say_fact(p, &p->candidates[i]);
        predict_number(p, "score", (double)p->candidates[i].score);
        predict_end(p);
    }
}

static void answer(struct predict *p)
{
    struct using *u = p->program;
    const struct field *f = p->field;
    if (p->fields == 1) {
        uint32_t entity = entity_of(u, f[0]);
        p->unknown += entity == NAMES_NONE;
        if (entity != NAMES_NONE) say_nearest(p, entity);
        return;
    }
    if (p->fields != 3)
        lines_fail(&p->lines, "has %zu fields: must be subject, relation and object, or an entity",
                   p->fields);
    bool asks_subject = field_is(f[0], "?"), asks_object = !asks_subject && field_is(f[2], "?");
    uint32_t subject = asks_subject ? 0 : entity_of(u, f[0]),
             relation = predict_row(&u->relation_names, u->model.relations, f[1], 0),
             object = asks_object ? 0 : entity_of(u, f[2]);
    bool is_known = subject != NAMES_NONE && relation != NAMES_NONE && object != NAMES_NONE;
    p->unknown += !is_known;
    if (is_known)
        ask(u, asks_subject ? MODEL_SUBJECTS : MODEL_OBJECTS, asks_subject ? object : subject,
            relation);
    if (asks_subject || asks_object) {
        if (is_known) say_answers(p);
        return;
    }
    say_fact(p, NULL);
    predict_number(p, "score", is_known ? (double)score_of(u, object) : (double)NAN);
    predict_end(p);
}

static void close(struct predict *p)
{
    struct using *u = p->program;
    names_fini(&u->entity_names);
    names_fini(&u->relation_names);
    free(u->query);
}

const struct predict_kind kge_predict_kind = {
    .model = "|complex|rescal|",
    .about =
        "Answers each line of FILE, or of stdin, by a model that locus-kge has saved: subject, relation and\n"
        "object, with tabs between. ? as the subject or the object asks for the best ones; an entity alone, for the\n"
        "nearest ones by the cosine.",
    .more =
        "A line out: the fact and its score; of a fact with a name that the model does not know: nan.\n\n"
        "example:\n"
        "  printf 'dog.n.01\\thypernym\\t?\\n' | locus-kge predict --best 5 model.safetensors",
    .program_bytes = sizeof(struct using),
    .fields_max = 3,
    .best = 10,
    .best_help = "answers to a question",
    .open = open,
    .answer = answer,
    .close = close};
