// SPDX-License-Identifier: Apache-2.0
//! Queries that have several right answers.
//!
//! Where rows are alike in all that a query sorts by, their order is free, and
//! so is which of them a LIMIT lets through. Whether that is so is looked up in
//! the rows, on one node. Such a query is then run with its own keys followed
//! by all its columns: of that there is one right answer.

use std::collections::HashSet;

use datafusion::common::Result;
use datafusion::logical_expr::{
    Expr, FetchType, Limit, LogicalPlan, LogicalPlanBuilder, Sort, SortExpr,
};
use datafusion::prelude::{DataFrame, SessionContext};

use crate::rows::{Rows, rows};

/// What a query says about the order of its rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// Nothing: compared as a set.
    None,
    /// All: compared row by row.
    Total,
    /// Not all: compared row by row, sorted by all columns after its keys.
    Ties,
}

/// Run a query, its rows in the one order in which they can be compared.
pub async fn run(
    session: &SessionContext,
    sql: &str,
    order: Order,
) -> Result<Rows> {
    let plan = session.state().create_logical_plan(sql).await?;
    let plan = match order {
        Order::Ties => totally(&plan)?.expect("it has a sort"),
        Order::None | Order::Total => plan,
    };
    let frame = DataFrame::new(session.state(), plan);
    let rows = rows(&frame.collect().await?);
    Ok(match order {
        Order::None => crate::rows::sorted(rows),
        Order::Total | Order::Ties => rows,
    })
}

/// Look it up, on one node.
pub async fn order_of(alone: &SessionContext, sql: &str) -> Result<Order> {
    let plan = alone.state().create_logical_plan(sql).await?;
    let Some((sort, limit)) = sort_of(&plan) else {
        if let LogicalPlan::Limit(limit) = plan {
            let fits = fits(alone, &limit).await?;
            assert!(fits, "any rows: {sql}");
        }
        return Ok(Order::None);
    };
    let key = |(i, key): (usize, &SortExpr)| {
        key.expr.clone().alias(format!("key {i}"))
    };
    let keys = sort.expr.iter().enumerate().map(key).collect::<Vec<_>>();
    let plan = LogicalPlanBuilder::from(sort.input.clone())
        .sort(sort.expr.clone())?
        .limit(0, limit.map(|n| n + 1))?
        .project(keys)?
        .build()?;
    let keys = DataFrame::new(alone.state(), plan).collect().await?;
    let mut seen = HashSet::new();
    let different = rows(&keys).iter().all(|row| {
        let text = format!("{row:?}");
        seen.insert(text)
    });
    Ok(if different { Order::Total } else { Order::Ties })
}

/// Does a limit let all rows through?
async fn fits(alone: &SessionContext, limit: &Limit) -> Result<bool> {
    let all = limit.input.as_ref().clone();
    let n = DataFrame::new(alone.state(), all).count().await?;
    Ok(n <= number_of(limit).unwrap_or(usize::MAX))
}

fn number_of(limit: &Limit) -> Option<usize> {
    match limit.get_fetch_type() {
        Ok(FetchType::Literal(n)) => n,
        _ => panic!("a limit that is no number"),
    }
}

/// The sort that a plan ends with, and how many rows of it are wanted.
fn sort_of(plan: &LogicalPlan) -> Option<(&Sort, Option<usize>)> {
    match plan {
        LogicalPlan::Sort(sort) => Some((sort, None)),
        LogicalPlan::Limit(limit) => {
            let (sort, _) = sort_of(&limit.input)?;
            Some((sort, number_of(limit)))
        }
        LogicalPlan::Projection(projection) => sort_of(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => sort_of(&alias.input),
        _ => None,
    }
}

/// The plan with more keys in its last sort. None: it has no such sort.
fn totally(plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    if let LogicalPlan::Sort(sort) = plan {
        let columns = sort.input.schema().columns();
        let more =
            columns.into_iter().map(|c| Expr::Column(c).sort(true, true));
        let expr = sort.expr.iter().cloned().chain(more).collect();
        let sort = Sort { expr, ..sort.clone() };
        return Ok(Some(LogicalPlan::Sort(sort)));
    }
    if sort_of(plan).is_none() {
        return Ok(None);
    }
    let input = totally(plan.inputs()[0])?.expect("it has a sort");
    plan.with_new_exprs(plan.expressions(), vec![input]).map(Some)
}
